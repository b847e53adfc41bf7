// Every endpoint of a sweep's models is asked before anything is graded.
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkModels } from '../../cli/sweep-models.ts';
import { SweepFileSchema, type ModelRequest } from '../../cli/sweep-request.ts';
import type { PlannedScaffold } from '../../domain/sweep.ts';
import { startKnownRateServer } from '../../instruments/known-rate/server.ts';
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
const check = (of = 'terminus-2') => checkModels(models(), [scaffold(of)], {});

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

async function checkTokensIn(tokensIn: boolean, endpoint: string[], name = 'm'): Promise<void> {
  const models = [{ name, endpoint, tokens_in: tokensIn }];
  const request = SweepFileSchema.parse({ tasks: 't', models });
  await checkModels(request.models, [scaffold('terminus-2')], {});
}

it('a model that is sent ids needs a server that gives those of a chat', async () => {
  const serve =
    (ids: boolean) =>
    (response: ServerResponse, { path }: { readonly path: string }) => {
      const known = path === '/v1/models' ? { data: [{ id: 'm' }] } : { tokens: [1], max_model_len: 9 };
      const there = ids || path === '/v1/models';
      response.writeHead(there ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(there ? known : { detail: 'Not Found' }));
    };
  const urls = servers.map(({ url }) => url);
  for (const server of servers) server.use(serve(true));
  await checkTokensIn(true, urls);
  // One of several is enough to refuse: any trial may go there.
  servers[1]?.use(serve(false));
  await checkTokensIn(false, urls);
  await expect(checkTokensIn(true, urls)).rejects.toMatchObject({
    failureClass: 'ConfigInvalid',
    message: expect.stringMatching(
      /^model m at .*Not Found \(tokens_in asks .*\/tokenize, which vLLM has\)$/,
    ) as string,
  });
  const known = await startKnownRateServer({ tasks: [], models: ['known-rate-1'], seed: 1 });
  try {
    await checkTokensIn(true, [known.url], 'known-rate-1');
  } finally {
    await known.close();
  }
});
