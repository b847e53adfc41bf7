// The Temporal server that skips time: one for all files of a tier, or a test's own.
import { TestWorkflowEnvironment } from '@temporalio/testing';
import './quiet-runtime.ts';
import { timeSkippingServerPath } from './temporal-test-server.ts';

const addressVariable = 'PASSBAND_TEST_TIME_SKIPPING';

export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  const path = await timeSkippingServerPath();
  return await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}

/** The server of the tier, which goes on when the environment is torn down; null where the tier has none. */
export async function joinTimeSkipping(): Promise<TestWorkflowEnvironment | null> {
  const address = process.env[addressVariable];
  if (address === undefined) return null;
  // What the SDK offers for a server that runs already takes it for one that does not skip time.
  return await TestWorkflowEnvironment['create']({
    server: { type: 'existing' },
    supportsTimeSkipping: true,
    address,
  });
}

/** Vitest's global setup of a tier: its server is there before the first file, and gone after the last. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startTimeSkipping();
  process.env[addressVariable] = server.address;
  return async () => await server.teardown();
}
