// The floor of bench/bands.ts: reads and parses the same files, many at once, and nothing else. node bench/bands-floor.ts --folder DIR
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const folder = process.argv[3] ?? '.';
const files = JSON.parse(await readFile(path.join(folder, 'files.json'), 'utf8')) as string[];
for (let i = 0; i < files.length; i += 32) {
  const texts = await Promise.all(files.slice(i, i + 32).map((file) => readFile(file, 'utf8')));
  for (const text of texts) JSON.parse(text);
}
