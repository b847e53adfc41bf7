// What a test needs to work with a server that skips time.
import { TestWorkflowEnvironment } from '@temporalio/testing';
import './quiet-runtime.ts';
import { tierServerAddress } from './temporal-test-server.ts';

type Create = (options: object) => Promise<TestWorkflowEnvironment>;

/** The server at this address, by default the tier's; it goes on when the environment is torn down. */
export async function joinTimeSkipping(address = tierServerAddress()): Promise<TestWorkflowEnvironment> {
  // What the SDK offers in public for a server that runs already takes it for one that does not skip time.
  const create = Reflect.get(TestWorkflowEnvironment, 'create') as Create;
  return await create.call(TestWorkflowEnvironment, {
    server: { type: 'existing' },
    supportsTimeSkipping: true,
    address,
  });
}
