// Test tiers as vitest projects: unit and workflow are the inner loop, the rest need real servers and engines.
import path from 'node:path';
import { defineConfig } from 'vitest/config';

interface Options {
  readonly testTimeout: number;
  readonly exclude?: string[];
  readonly fileParallelism?: boolean;
  readonly maxWorkers?: number;
  readonly isolate?: boolean;
  readonly execArgv?: string[];
  readonly globalSetup?: string[];
}

const oneByOne = { fileParallelism: false };
/** Sweeps wait for most of their time: two files at once, whatever the machine has. */
const twoAtOnce = { maxWorkers: 2 };
/** Files that share a process share its modules too: nothing may be left behind in them. */
const together = { isolate: false };

const tier = (name: string, folders: string, options: Options) => ({
  test: { name, include: [`test/${folders}/**/*.test.ts`], hookTimeout: options.testTimeout * 2, ...options },
});

export default defineConfig({
  test: {
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest' },
    projects: [
      // Whatever no other tier has.
      tier('unit', '*', {
        ...together,
        testTimeout: 120_000,
        exclude: ['test/{embedded,worker,workflows,engine,s3,cluster,nodes,e2e,vllm}/**'],
      }),
      tier('workflow', 'workflows', {
        ...together,
        ...oneByOne,
        testTimeout: 180_000,
        execArgv: ['--require', path.join(import.meta.dirname, 'test/support/workflow-threads.ts')],
        globalSetup: ['test/support/temporal-test-server.ts'],
      }),
      tier('server', '{embedded,worker}', { ...oneByOne, testTimeout: 180_000 }),
      tier('engine', 'engine', { ...oneByOne, testTimeout: 180_000 }),
      tier('s3', 's3', { ...oneByOne, testTimeout: 180_000 }),
      tier('cluster', 'cluster', { ...twoAtOnce, testTimeout: 300_000 }),
      // What breaks, drains or fills nodes: nothing else may run on them.
      tier('nodes', 'nodes', { ...oneByOne, testTimeout: 300_000 }),
      // Installs 6 GB once, and has the cluster to itself: left out of npm test.
      tier('vllm', 'vllm', { ...oneByOne, testTimeout: 300_000 }),
      tier('e2e', 'e2e', { ...twoAtOnce, testTimeout: 600_000 }),
    ],
  },
});
