// What a broken connection means: asked again where the sandbox lives, told apart from its loss where it does not.
import { ClassifiedError } from '../../domain/errors.ts';
import type { Connection } from '../protocol/connection.ts';
import { SupervisorError } from '../protocol/connection.ts';
import { ConnectionLost } from '../protocol/frames.ts';
import { SandboxGone } from '../port.ts';
import { ConnectionEnded, type Connections } from './connections.ts';
import type { Link } from './link.ts';

/** Waits before the second, third and fourth try. */
const pausesMs = [100, 500, 2_000];

/**
 * Performs an idempotent exchange, again on a new connection after a cut. SandboxGone where the driver says that
 * the sandbox is not what it was, or where none holds and what runs inside was seen to end one: it may spoil the
 * others in ways that nobody sees. ClassifiedError `ExecBroken` where it lives and still no connection holds, or
 * where it answers that it could not do it. Refusals of a kind that the caller names in `understood` come as the
 * SupervisorError that they are.
 */
export async function recovering<T>(
  { link, connections }: { readonly link: Link; readonly connections: Connections },
  what: string,
  exchange: (connection: Connection) => Promise<T>,
  understood: readonly string[] = [],
): Promise<T> {
  let ended: ConnectionEnded | null = null;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await connections.use(exchange);
    } catch (error) {
      if (error instanceof SupervisorError && error.kind !== 'integrity') {
        // A bad request is a defect of ours, and no sandbox's fault.
        if (error.kind === 'bad-request' || understood.includes(error.kind)) throw error;
        throw new ClassifiedError('ExecBroken', `${what}: ${error.message}`, { cause: error });
      }
      if (!(error instanceof ConnectionLost || error instanceof SupervisorError)) throw error;
      const state = await link.state();
      if (state.kind !== 'alive') throw new SandboxGone(state);
      if (error instanceof ConnectionEnded) ended = error;
      const pause = pausesMs[attempt];
      if (pause !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        continue;
      }
      if (ended !== null) {
        const reason = `what runs in the sandbox took away its supervisor's connection: ${ended.message}`;
        throw new SandboxGone({ kind: 'gone', cause: 'self', why: 'exited', reason });
      }
      throw new ClassifiedError('ExecBroken', `${what}: ${error.message}, ${attempt + 1} times`, {
        cause: error,
      });
    }
  }
}
