// Every endpoint of a sweep's models is asked before anything is graded.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkModels } from '../../cli/sweep-models.ts';
import { SweepFileSchema, type ModelRequest } from '../../cli/sweep-request.ts';
import type { PlannedScaffold } from '../../domain/sweep.ts';
import { reply, startScriptedServer, type ScriptedServer } from '../model/scripted-server.ts';

let servers: ScriptedServer[];
beforeAll(async () => {
  servers = await Promise.all([0, 1].map(() => startScriptedServer()));
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const lists = (id: string) => reply(200, JSON.stringify({ data: [{ id }] }));
const scaffold = (name: string): PlannedScaffold => ({
  ...{ name, slug: name, version: '1', options: {}, digest: 'a'.repeat(64) },
});
const models = (): ModelRequest[] =>
  SweepFileSchema.parse({ tasks: 't', models: [{ name: 'm', endpoint: servers.map(({ url }) => url) }] })
    .models;
const check = (of = 'terminus-2') => checkModels(models(), null, [scaffold(of)], {});

it('says nothing where all of them serve the model', async () => {
  for (const server of servers) server.use(lists('m'));
  expect(await check()).toEqual([]);
});

it('has a line for one that is away while another answers', async () => {
  servers[1]?.use(reply(503, ''));
  expect(await check()).toEqual([`model m at ${servers[1]?.url ?? ''}/v1: HTTP 503`]);
});

it('fails where one serves other models, and names it', async () => {
  servers[1]?.use(lists('other'));
  await expect(check()).rejects.toThrow(
    `model m at ${servers[1]?.url ?? ''}/v1: not served there; it serves other`,
  );
});

it('fails where none answers', async () => {
  for (const server of servers) server.use(reply(503, ''));
  await expect(check()).rejects.toMatchObject({ failureClass: 'ModelUnavailable' });
});

it('asks nobody where no scaffold needs a model', async () => {
  expect(await check('oracle')).toEqual([]);
});
