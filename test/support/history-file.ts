// A workflow's history as a JSON file: names for enums, text for long numbers, base64 for bytes.
import proto from '@temporalio/proto';
import { readFile, writeFile } from 'node:fs/promises';

const { History } = proto.temporal.api.history.v1;
export type RecordedHistory = proto.temporal.api.history.v1.IHistory;

// The SDK's historyToJSON fails where two versions of protobufjs are installed side by side, as npm does here.
export async function writeHistory(file: string, history: RecordedHistory): Promise<void> {
  const plain = History.toObject(History.fromObject(history), {
    longs: String,
    enums: String,
    bytes: String,
  });
  await writeFile(file, `${JSON.stringify(plain)}\n`);
}

export async function readHistory(file: string | URL): Promise<RecordedHistory> {
  return History.fromObject(JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>);
}
