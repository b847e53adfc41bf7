// Which client a trial gets: one for the settings as they are, with what a server takes shared by all who ask there.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ModelClients } from '../../activities/model-clients.ts';
import type { PlannedModel, SweepSettings } from '../../domain/sweep.ts';
import { planOf, settingsOf } from '../support/sweep-data.ts';
import { chunk, done, startScriptedServer, stream, type ScriptedServer } from '../model/scripted-server.ts';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());

const [planned] = planOf({ sweep: 's', tasks: 0, models: { m: 1 } }).models;
const model = (fields: Partial<PlannedModel> = {}): PlannedModel => ({
  ...(planned as PlannedModel),
  ...fields,
});
const silent = { info: () => undefined, warn: () => undefined };
const settings = (fields: Partial<SweepSettings['endpoints'][string]> = {}): SweepSettings =>
  settingsOf({
    endpoints: { m: { urls: [server.url], servedName: null, apiKeyEnv: null, maxRequests: null, ...fields } },
  });

it('is the same one for the same settings, and another for another URL or key', () => {
  const clients = new ModelClients({ KEY: 'k' }, silent);
  const client = clients.for(model(), settings());
  expect(clients.for(model(), settings())).toBe(client);
  expect(clients.for(model(), settings({ urls: [server.url, 'http://h:1'] }))).not.toBe(client);
  expect(clients.for(model(), settings({ apiKeyEnv: 'KEY' }))).not.toBe(client);
});

it('is refused where the settings have no endpoint or the environment no key', () => {
  const clients = new ModelClients({}, silent);
  expect(() => clients.for(model(), settingsOf())).toThrow(/no endpoint for model m/);
  expect(() => clients.for(model(), settings({ apiKeyEnv: 'KEY' }))).toThrow(/environment has no KEY/);
});

it('keeps to the most that a server gets at once over all samplings', async () => {
  const clients = new ModelClients({}, silent);
  server.use(stream(120, chunk({ content: 'x', finish: 'stop' }), done));
  const ask = (sampling: PlannedModel['sampling']) =>
    clients
      .for(model({ sampling }), settings({ maxRequests: 1 }))
      .ask({ messages: [{ role: 'user', content: 'hi' }], sessionId: 's', attempt: 1 });
  const [, second] = await Promise.all([ask({ temperature: 0 }), ask({ temperature: 1 })]);
  expect(second.times.queuedMs).toBeGreaterThan(80);
});
