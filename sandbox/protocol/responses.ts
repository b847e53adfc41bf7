// What a supervisor may answer (toolbox/PROTOCOL.md), parsed: all of it comes from inside a sandbox.
import { z } from 'zod';
import { memoryEnds } from '../../domain/verdict.ts';
import { BootId } from './voice.ts';

const count = z.int().min(0);
const refused = z.array(z.object({ path: z.string(), why: z.string() }));

export const EmptyResponse = z.object({});

export const HelloResponse = z.object({
  protocol: z.literal(2),
  bootId: BootId,
  uptimeMs: z.number(),
  env: z.record(z.string(), z.string()),
  cwd: z.string(),
  memoryEnds: z.enum(memoryEnds).nullable(),
});

export const RunResponse = z.discriminatedUnion('state', [
  z.object({ state: z.literal('running') }),
  z.object({ state: z.literal('lost'), message: z.string() }),
  z.object({
    state: z.literal('exited'),
    exitCode: z.int(),
    signal: z.int().nullable(),
    timedOut: z.boolean(),
    wallMs: z.number().min(0),
    stdout: z.base64(),
    stderr: z.base64(),
    stdoutOmitted: count,
    stderrOmitted: count,
  }),
]);

export const PutResponse = z.object({
  bytes: count,
  sha256: z.string(),
  entries: count,
  refused,
});

export const GetResponse = z.object({
  entries: count,
  missing: z.array(z.string()),
  truncated: z.boolean(),
  refused,
});

const EntrySchema = z.object({
  path: z.string(),
  kind: z.enum(['file', 'directory', 'symlink', 'other']).catch('other'),
  mode: count,
  uid: count,
  gid: count,
  bytes: count,
  target: z.string().nullish(),
});
/** lstat of one path. */
export type StatEntry = z.infer<typeof EntrySchema>;
export const StatResponse = z.object({ entries: z.array(EntrySchema.nullable()) });

export const ListResponse = z.object({ names: z.record(z.string(), z.array(z.string()).nullable()) });

export const TerminalStartResponse = z.object({ started: z.boolean() });

export const TerminalActResponse = z.object({
  alive: z.boolean(),
  fresh: z.string().nullable(),
  screen: z.string(),
  wallMs: z.number().min(0),
});

export const ProofResponse = z.object({
  interfaces: z.array(z.object({ name: z.string(), addresses: z.array(z.string()).nullable() })).nullable(),
  routes: z.array(z.string()).nullable(),
  probes: z
    .array(
      z.object({
        target: z.string(),
        outcome: z.enum(['denied', 'open', 'untried', 'unprovable']),
        detail: z.string(),
        /** The one that answered. */
        address: z.string().nullable(),
        ms: z.number(),
      }),
    )
    .nullable(),
});

export const BaselineResponse = z.object({ entries: count, ms: z.number() });

const paths = z.array(z.string().startsWith('/'));
export const ChangesResponse = z.object({
  added: paths,
  changed: paths,
  deleted: paths,
  refused,
  truncated: z.boolean(),
});

export const UsersResponse = z.object({
  users: z.array(z.object({ name: z.string(), uid: count, gid: count })),
});

export const UsageResponse = z.object({
  oomKills: count.nullable(),
  memoryPeakBytes: count.nullable(),
});

export const FailedResponse = z.object({
  ok: z.literal(false),
  error: z.object({ kind: z.string(), message: z.string() }),
});

export const StreamEnd = z.object({ bytes: count, sha256: z.string() });
