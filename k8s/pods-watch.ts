// Waiting for a pod to become something: one watch for all who wait, and a look at each that the watch may not have seen.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { keys } from './labels.ts';
import { ObservedPod } from './observed-pod.ts';
import type { Pods } from './pods.ts';

/** Each who waits looks for himself this often: a watch can go silent and say nothing of it. */
const pollMs = 1_500;
const pollTimeoutMs = 5_000;
/** How long an API server may not answer before those who wait are told. */
const patienceMs = 20_000;
/** Bookmarks come about every minute: a watch without one is dead. */
const silenceMs = 90_000;
const watchSec = 290;
const againMs = 1_000;
/** Without anybody who waits it is ended. */
const idleMs = 5_000;

const WatchEvent = z.object({ type: z.string(), object: z.unknown() });
const Bookmark = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

interface Listener {
  readonly uid: string;
  /** `pod` null: it is not there. */
  take(pod: ObservedPod | null): void;
}

export class PodsWatch {
  readonly #pods: Pods;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The last that the watch that runs has seen of each pod. */
  readonly #seen = new Map<string, ObservedPod>();
  #running: AbortController | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(pods: Pods) {
    this.#pods = pods;
  }

  /**
   * Resolves with what `look` first makes of the pod that is not null; rejects with what it throws, with the signal's
   * reason, or with PlatformUnavailable. `pod`: as it was seen last. `look` gets null where the pod is not there.
   */
  async wait<T>(
    pod: ObservedPod,
    look: (pod: ObservedPod | null) => T | null,
    signal: AbortSignal,
  ): Promise<T> {
    const { name, uid, resourceVersion } = pod.metadata;
    const first = look(pod);
    if (first !== null) return first;
    const ended = new AbortController();
    return new Promise<T>((resolve, reject) => {
      const settle = (act: () => void): void => {
        if (ended.signal.aborted) return;
        ended.abort();
        this.#leave(name, listener);
        act();
      };
      const fail = (error: unknown): void =>
        settle(() => reject(error instanceof Error ? error : new Error(String(error))));
      const take = (seen: ObservedPod | null): void => {
        if (ended.signal.aborted) return;
        try {
          const found = look(seen);
          if (found !== null) settle(() => resolve(found));
        } catch (error) {
          fail(error);
        }
      };
      const listener: Listener = { uid, take };
      this.#join(name, listener, resourceVersion);
      const seen = this.#seen.get(name);
      if (seen?.metadata.uid === uid) take(seen);
      this.#poll(name, listener, AbortSignal.any([signal, ended.signal])).catch(fail);
    });
  }

  close(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#running?.abort();
    this.#running = null;
  }

  /** Never resolves before the signal comes; rejects where the API server does not answer for long. */
  async #poll(name: string, listener: Listener, signal: AbortSignal): Promise<void> {
    let answeredMs = performance.now();
    for (;;) {
      await sleep(pollMs, undefined, { signal });
      try {
        listener.take(await this.#pods.find(name, { signal, timeoutMs: pollTimeoutMs }));
        answeredMs = performance.now();
      } catch (error) {
        signal.throwIfAborted();
        const silent = error instanceof ClassifiedError && error.failureClass === 'PlatformUnavailable';
        if (!silent || performance.now() - answeredMs > patienceMs) throw error;
      }
    }
  }

  #join(name: string, listener: Listener, resourceVersion: string): void {
    const listeners = this.#listeners.get(name) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(name, listeners);
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#running !== null) return;
    const running = new AbortController();
    this.#running = running;
    void this.#watch(resourceVersion, running.signal);
  }

  #leave(name: string, listener: Listener): void {
    const listeners = this.#listeners.get(name);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(name);
    if (this.#listeners.size > 0 || this.#idle !== null) return;
    this.#idle = setTimeout(() => this.close(), idleMs);
    this.#idle.unref();
  }

  /** Runs until the signal comes. What goes wrong with it is no error: those who wait look for themselves. */
  async #watch(from: string, signal: AbortSignal): Promise<void> {
    let version: string | null = from;
    while (!signal.aborted) {
      try {
        version = await this.#follow(version, signal);
      } catch {
        version = null;
      }
      await sleep(againMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.#seen.clear();
  }

  /** One connection's worth of events; the version to go on from, null where the server knows that one no more. */
  async #follow(from: string | null, signal: AbortSignal): Promise<string | null> {
    const silent = new AbortController();
    let alarm = setTimeout(() => silent.abort(), silenceMs);
    let version = from;
    try {
      const answer = await this.#pods.client.stream({
        what: 'watching pods',
        path: this.#pods.path,
        query: {
          watch: '1',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(watchSec),
          labelSelector: `${keys.managedBy}=passband`,
          ...(from === null ? {} : { resourceVersion: from }),
        },
        signal: AbortSignal.any([signal, silent.signal]),
      });
      for await (const line of createInterface({ input: answer.body })) {
        clearTimeout(alarm);
        alarm = setTimeout(() => silent.abort(), silenceMs);
        const event = WatchEvent.parse(JSON.parse(line));
        if (event.type === 'ERROR') return null;
        version = this.#take(event) ?? version;
      }
      return version;
    } finally {
      clearTimeout(alarm);
    }
  }

  #take({ type, object }: z.infer<typeof WatchEvent>): string | null {
    if (type === 'BOOKMARK') return Bookmark.safeParse(object).data?.metadata.resourceVersion ?? null;
    const pod = ObservedPod.safeParse(object).data;
    if (pod === undefined) return null;
    const { name, uid, resourceVersion } = pod.metadata;
    if (type === 'DELETED') this.#seen.delete(name);
    else this.#seen.set(name, pod);
    for (const listener of this.#listeners.get(name) ?? []) {
      // A watch comes late: what it says of an earlier pod of this name is over.
      if (listener.uid === uid) listener.take(type === 'DELETED' ? null : pod);
    }
    return resourceVersion;
  }
}
