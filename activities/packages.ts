// Task packages out of the store: the plan's own copy of each task's folder, indexed once.
import type { PlannedTask } from '../domain/sweep.ts';
import { openRef, readRef } from '../store/objects.ts';
import type { Store } from '../store/port.ts';
import { openPackage, type TaskPackage } from '../tasks/open-package.ts';
import { Cache } from './cache.ts';

/** Packages up to this size are kept in memory; larger ones are streamed anew each time. */
const inMemoryBytes = 8 * 1024 ** 2;

export class Packages {
  readonly #store: Store;
  readonly #packages = new Cache<TaskPackage>(16);

  constructor(store: Store) {
    this.#store = store;
  }

  of({ package: ref }: Pick<PlannedTask, 'package'>): Promise<TaskPackage> {
    return this.#packages.get(ref.sha256, async () =>
      openPackage(
        ref.bytes <= inMemoryBytes ? await readRef(this.#store, ref) : () => openRef(this.#store, ref),
      ),
    );
  }
}
