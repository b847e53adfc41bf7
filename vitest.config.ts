// Test tiers as vitest projects: unit and workflow are the inner loop, the rest need real servers and engines.
import { defineConfig } from 'vitest/config';

const tier = (name: string, include: string[], testTimeout: number, fileParallelism = true) => ({
  test: { name, include, testTimeout, hookTimeout: testTimeout * 2, fileParallelism },
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
      ),
      tier('server', ['test/{embedded,worker}/**/*.test.ts'], 60_000, false),
      tier('workflow', ['test/workflows/**/*.test.ts'], 60_000, false),
      tier('engine', ['test/engine/**/*.test.ts'], 180_000, false),
      tier('s3', ['test/s3/**/*.test.ts'], 120_000, false),
      tier('cluster', ['test/cluster/**/*.test.ts'], 300_000, false),
      tier('e2e', ['test/e2e/**/*.test.ts'], 600_000, false),
    ],
  },
});
