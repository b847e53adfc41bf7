// The values that the chart of one model's server refuses, each in a line.
import { expect, test } from 'vitest';
import { renderChart, type Values } from '../support/helm.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const model = { name: 'org/model' };

const refusal = (values: Values): Promise<string> =>
  renderChart({ model, ...values }, { chart: 'helm/vllm' }).then(
    () => 'rendered',
    (error: unknown) => String(error),
  );

test.each<[string, Values, RegExp]>([
  ['no model', { model: { name: '' } }, /\/model\/name/],
  ['a model of a shape that no hub has', { model: { name: 'a/b/c' } }, /\/model\/name/],
  ['an image of no version', { image: { tag: '' } }, /\/image/],
  ['a digest that is none', { image: { digest: digest.slice(1) } }, /image\/digest/],
  ['an unknown name', { modle: {} }, /'modle' not allowed/],
  ['a rank that vLLM does not take', { lora: { maxRank: 24 } }, /lora\/maxRank/],
  ['a module without a path', { lora: { modules: [{ name: 'a' }] } }, /'path'/],
  [
    'two models of one name',
    { lora: { modules: [{ name: 'org/model', path: '/a' }] } },
    /lora\.modules: org\/model is served twice/,
  ],
  ['an argument that is a value', { extraArgs: ['--max-model-len=1'] }, /extraArgs/],
  ['a negative context', { model: { ...model, maxLength: -1 } }, /maxLength/],
  ['no place for tensors to pass', { tensorParallelSize: 2, sharedMemory: '' }, /sharedMemory: .* say 16Gi/],
  [
    'fewer GPUs than parts',
    { tensorParallelSize: 8, gpu: { count: 4 } },
    /gpu\.count: 4 is fewer than tensorParallelSize 8/,
  ],
  ['a cache of an unknown kind', { cache: { kind: 'nfs' } }, /cache\/kind/],
  ['a folder of the node that is not named', { cache: { kind: 'hostPath' } }, /cache\.hostPath:/],
  ['a claim of no size', { cache: { kind: 'claim' } }, /cache\.size:/],
  [
    'a token that nobody would ask with',
    { huggingFace: { offline: true, tokenSecret: 't' } },
    /tokenSecret:/,
  ],
  [
    'weights that could not be fetched',
    { networkPolicy: { denyEgress: true } },
    /networkPolicy\.denyEgress:/,
  ],
  [
    'workers that would be everybody',
    { networkPolicy: { workers: { podLabels: null } } },
    /networkPolicy\.workers: .*podLabels/,
  ],
  ['a load that gets no time', { probes: { startSec: 5 } }, /startSec/],
  ['a user that is root', { runAsUser: 0 }, /runAsUser/],
  ['a credential in the clear', { env: [{ name: 'HF_TOKEN', value: 'x' }] }, /env/],
  ['a volume in the place of the cache', { volumes: [{ name: 'cache' }] }, /volumes/],
])('%s', async (_, values, message) => {
  expect(await refusal(values)).toMatch(message);
});
