// Test tiers as vitest projects: unit and workflow are the inner loop, the rest need real servers and engines.
import { defineConfig } from 'vitest/config';

const tier = (
  name: string,
  include: string[],
  testTimeout: number,
  more: object = { fileParallelism: false },
) => ({
  test: { name, include, testTimeout, hookTimeout: testTimeout * 2, ...more },
});

export default defineConfig({
  test: {
    projects: [
      tier(
        'unit',
        [
          'test/{domain,tasks,statistics,instruments,scaffolds,model,store,activities,cli,sandbox,k8s,helm,terraform}/**/*.test.ts',
        ],
        20_000,
        { isolate: false },
      ),
      tier('server', ['test/{embedded,worker}/**/*.test.ts'], 60_000),
      tier('workflow', ['test/workflows/**/*.test.ts'], 60_000, {
        fileParallelism: false,
        isolate: false,
        globalSetup: ['test/support/temporal-test-server.ts'],
      }),
      tier('engine', ['test/engine/**/*.test.ts'], 180_000),
      tier('s3', ['test/s3/**/*.test.ts'], 120_000),
      tier('cluster', ['test/cluster/**/*.test.ts'], 300_000),
      tier('e2e', ['test/e2e/**/*.test.ts'], 600_000),
    ],
  },
});
