// A process that writes to a store as a worker does, for tests that race it, kill it or weigh it: store-writer.ts ACTION LOCATION ARGUMENT.
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';

const chunk = Buffer.alloc(256 * 1024, 'passband ');

function* chunks(count: number): Generator<Buffer> {
  for (let i = 0; i < count; i += 1) yield chunk;
}

const say = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

/** What an action has to tell goes to stdout, a line of JSON each. */
const actions: Readonly<Record<string, (store: Store, argument: string) => Promise<void>>> = {
  /** Waits for a byte on stdin, then writes race/0, race/1, ... once each, its pid as the body; tells those that it wrote. */
  async race(store, count) {
    const keys = Array.from({ length: Number(count) }, (_, i) => `race/${i}`);
    const body = Buffer.from(`${process.pid}`);
    await store.get('race/0');
    say('ready');
    await once(process.stdin, 'data');
    const done = await Promise.all(keys.map(async (key) => ({ key, ...(await store.putOnce(key, body)) })));
    say({ pid: process.pid, written: done.filter(({ written }) => written).map(({ key }) => key) });
    process.stdin.destroy();
  },
  /** Stores a blob of so many MiB; tells its reference and the most memory that this process ever held. */
  async blob(store, mebibytes) {
    const ref = await store.putBlob(Readable.from(chunks(Number(mebibytes) * 4)));
    say({ ref, peakMiB: process.resourceUsage().maxRSS / 1024 });
  },
  /** Begins a blob that has no end, 64 MiB of which come at once. */
  async endless(store) {
    await store.putBlob(
      Readable.from(
        (async function* () {
          yield* chunks(256);
          say('begun');
          await new Promise((resolve) => setTimeout(resolve, 600_000));
        })(),
      ),
    );
  },
  /** Replaces one object again and again by one letter, eight million times. */
  async replace(store, key) {
    say('begun');
    for (;;) for (const letter of 'ab') await store.put(key, Buffer.alloc(8_000_000, letter));
  },
};

const [name = '', location = '', argument = ''] = process.argv.slice(2);
const action = actions[name];
if (action === undefined) throw new Error(`no action ${name}`);
const store = await openStore(location, process.env);
await action(store, argument);
await store.close();
