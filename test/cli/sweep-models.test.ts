// What is asked of a model's server before anything is graded.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkModels } from '../../cli/sweep-models.ts';
import { SweepFileSchema } from '../../cli/sweep-request.ts';
import { startKnownRateServer } from '../../instruments/known-rate/server.ts';
import { startScriptedServer, type ScriptedServer } from '../model/scripted-server.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
  server.use((response, { path }) => {
    const known = path === '/v1/models';
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(known ? { data: [{ id: 'm' }] } : { detail: 'Not Found' }));
  });
});
afterEach(() => server.close());

async function check(tokensIn: boolean, endpoint: string, name = 'm'): Promise<void> {
  const models = [{ name, endpoint, tokens_in: tokensIn }];
  const request = SweepFileSchema.parse({ tasks: 't', models });
  const scaffold = { name: 'terminus-2', slug: 'terminus-2', version: '1', options: {}, digest: '' };
  await checkModels(request.models, null, [scaffold], {});
}

it('a model that is sent ids needs a server that gives those of a chat', async () => {
  await check(false, server.url);
  await expect(check(true, server.url)).rejects.toMatchObject({
    failureClass: 'ConfigInvalid',
    message: expect.stringMatching(
      /^model m at .*Not Found \(tokens_in asks .*\/tokenize, which vLLM has\)$/,
    ) as string,
  });
  const known = await startKnownRateServer({ tasks: [], models: ['known-rate-1'], seed: 1 });
  try {
    await check(true, known.url, 'known-rate-1');
  } finally {
    await known.close();
  }
});
