// What a real vLLM answered, as `npm run vllm:record` wrote it down: a file an exchange.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const folder = path.join(import.meta.dirname, '../fixtures/vllm');

const RecordingSchema = z.strictObject({
  /** As its /version says it. */
  vllm: z.string(),
  request: z.strictObject({ method: z.enum(['GET', 'POST']), path: z.string(), body: z.unknown() }),
  response: z.strictObject({
    status: z.int(),
    contentType: z.string(),
    /** Data of each event, in order; null where it was no stream. */
    events: z.array(z.string()).nullable(),
    /** Events in the middle of a long stream that were left out. */
    leftOut: z.int().min(0),
    /** JSON, or text where it is none; null for a stream. */
    body: z.unknown(),
    /** The connection ended before the stream did. */
    cut: z.boolean(),
  }),
});
export type Recording = z.infer<typeof RecordingSchema>;

const fileOf = (name: string): string => path.join(folder, `${name}.json`);

export async function readRecording(name: string): Promise<Recording> {
  return RecordingSchema.parse(JSON.parse(await readFile(fileOf(name), 'utf8')));
}

export async function writeRecording(name: string, recording: Recording): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(fileOf(name), `${JSON.stringify(RecordingSchema.parse(recording), null, 1)}\n`);
}

/** The bytes of a recorded answer. */
export function textOf({ response }: Recording): string {
  if (response.events !== null) return response.events.map((data) => `data: ${data}\n\n`).join('');
  return typeof response.body === 'string' ? response.body : JSON.stringify(response.body);
}
