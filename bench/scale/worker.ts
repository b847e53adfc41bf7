// A worker process as `passband worker` makes it, but for its activities: started by bench/scale.ts.
// node bench/scale/worker.ts ADDRESS '{"shape": …, "window": N, "heldMs": N, "slots": N}'
import { NativeConnection, Worker } from '@temporalio/worker';
import pino from 'pino';
import { z } from 'zod';
import { installRuntime } from '../../worker/runtime.ts';
import { readWorkerConfig } from '../../worker/config.ts';
import { workerOptions } from '../../worker/run.ts';
import { stubActivities } from './stub-activities.ts';

const AskedSchema = z.strictObject({
  shape: z.strictObject({
    tasks: z.int().min(1),
    attempts: z.array(z.int().min(1)).readonly(),
    scaffolds: z.int().min(1),
  }),
  window: z.int().min(1),
  heldMs: z.int().min(0),
  slots: z.int().min(1),
});
export type Asked = z.infer<typeof AskedSchema>;

const [address, asked] = process.argv.slice(2);
const { shape, window, heldMs, slots } = AskedSchema.parse(JSON.parse(asked ?? '{}'));
installRuntime(pino({ level: 'warn' }, pino.destination(2)));
const connection = await NativeConnection.connect({ address: address ?? '' });
const config = readWorkerConfig({});
const worker = await Worker.create({
  ...(await workerOptions({ ...config, concurrency: slots })),
  connection,
  activities: stubActivities(shape, window, heldMs),
});
process.once('SIGTERM', () => worker.shutdown());
await worker.run();
await connection.close();
