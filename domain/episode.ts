// The two records of a turn, and the summary of an episode: what a lost worker's episode goes on from.
import { z } from 'zod';
import { RefSchema } from './refs.ts';
import { ServingSchema } from './serving.ts';

/**
 * Why a prompt does not extend the ids that are known, by the first of these that holds (docs/token-ids.md):
 * the scaffold said another history; the thinking of a reply is not there any more; the id that ended a reply is
 * another one or is not there; a reply that called tools was written anew; other ids stand for a reply's text; anything else.
 */
export const breakCauses = [
  'history-changed',
  'thinking-stripped',
  'stop-token',
  'calls-rewritten',
  'retokenized',
  'template',
] as const;
export type BreakCause = (typeof breakCauses)[number];

/**
 * Written once, before any keystroke of the turn; the write is also the fence against a zombie worker.
 * Prompt ids are the suffix since the last turn, with a checksum of the prefix.
 */
export const ReplyRecordSchema = z.strictObject({
  format: z.literal('passband.reply'),
  version: z.literal(2),
  /** Index of the model call in its episode, from 0. */
  call: z.int().min(0),
  /** `cut`: the agent's time ran out while the reply ran. Nothing of it is used, and it took all the time that was left. */
  kind: z.enum(['reply', 'overflow', 'cut']),
  /** sha256 of the request's messages: a resumed episode that asks something else is a defect of ours. */
  requestDigest: z.string(),
  text: z.string(),
  reasoning: z.string().nullable(),
  /** The calls that it made; absent: none. */
  toolCalls: z.array(z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })).optional(),
  finishReason: z.enum(['stop', 'length']),
  promptIds: z
    .strictObject({
      suffix: z.array(z.int()),
      prefixLength: z.int().min(0),
      prefixSha256: z.string(),
      extends: z.boolean(),
      breakIndex: z.int().nullable(),
      /** Null where it extends, and in records from before causes were told. */
      breakCause: z.enum(breakCauses).nullable(),
    })
    .nullable(),
  completionIds: z.array(z.int()).nullable(),
  /** How many of the completion's ids, from its first, are thinking, at least; null where that is not known. */
  reasoningIds: z.int().min(0).nullable(),
  logprobs: z.array(z.number()).nullable(),
  usage: z.strictObject({
    promptTokens: z.int().min(0),
    completionTokens: z.int().min(0),
    cachedTokens: z.int().min(0).nullable(),
    /** True where the server sent no usage and the counts come from ids or from an estimate. */
    estimated: z.boolean(),
  }),
  times: z.strictObject({
    startedAt: z.string(),
    /** Milliseconds from the request of the reply that was used to its first and to its last token. */
    firstTokenMs: z.number().min(0).nullable(),
    lastTokenMs: z.number().min(0),
    /** Milliseconds before that request in the worker's own queue for the endpoint: charged to nobody. Absent: not told. */
    queuedMs: z.number().min(0).optional(),
    /**
     * Tries of the episode's activity that ended between the reply before this one and this one, whatever ended them:
     * a failure of the model, a lost worker, the store.
     */
    earlierTries: z.int().min(0),
  }),
});
export type ReplyRecord = z.infer<typeof ReplyRecordSchema>;

/** Written once, when the turn's keystrokes are acknowledged inside the sandbox. */
export const ObservationRecordSchema = z.strictObject({
  format: z.literal('passband.observation'),
  version: z.literal(1),
  /** Index of the terminal call in its episode, from 0; `send SEQ` of the sandbox is seq = call + 1. */
  call: z.int().min(0),
  kind: z.enum(['act', 'run']),
  requestDigest: z.string(),
  actions: z.array(z.strictObject({ keystrokes: z.string(), durationMs: z.number() })),
  observation: z
    .strictObject({ alive: z.boolean(), fresh: z.string().nullable(), screen: z.string() })
    .nullable(),
  result: z.strictObject({ exitCode: z.int(), timedOut: z.boolean(), output: z.string() }).nullable(),
  /** Wall time of the commands, as charged to the agent's clock. */
  commandsMs: z.number().min(0),
  startedAt: z.string(),
});
export type ObservationRecord = z.infer<typeof ObservationRecordSchema>;

/** Written once, before the first reply and whatever follows from it: what the server said of what it serves. */
export const ContextRecordSchema = z.strictObject({
  format: z.literal('passband.context'),
  version: z.literal(1),
  requestDigest: z.string(),
  /** Null where the server does not tell. */
  contextTokens: z.int().positive().nullable(),
  /** Absent: not told, or in records from before it was asked. */
  serving: ServingSchema.optional(),
});
export type ContextRecord = z.infer<typeof ContextRecordSchema>;

/** What became of the exact ids in an episode. */
const TokenIdsSchema = z.strictObject({
  /** Replies whose prompt and completion are there by their ids. */
  exact: z.int().min(0),
  /** Prompts that did not extend what was known, by cause. */
  breaks: z.partialRecord(z.enum(breakCauses), z.int().positive()),
});
export type TokenIds = z.infer<typeof TokenIdsSchema>;

export const EpisodeSummarySchema = z.strictObject({
  chargedMs: z.number().min(0),
  nominalMs: z.number().min(0).nullable(),
  wallMs: z.number().min(0),
  /** Of the first reply; null where nothing was streamed. */
  firstTokenMs: z.number().min(0).nullable(),
  turns: z.int().min(0),
  promptTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  tokensEstimated: z.boolean(),
  /** Absent: in a summary from before it was told. */
  tokenIds: TokenIdsSchema.optional(),
  /** Processes of the sandbox that the kernel killed for memory while the episode went on. */
  oomKills: z.int().min(0),
  /** What served its first reply. Absent: not told, no model, or in summaries from before it was asked. */
  serving: ServingSchema.optional(),
  trajectory: RefSchema,
  /** By file name: what the trajectory refers to, after a compaction. Absent: nothing. */
  furtherTrajectories: z.array(z.strictObject({ name: z.string(), ref: RefSchema })).optional(),
  messages: RefSchema,
  recording: RefSchema.nullable(),
});
export type EpisodeSummary = z.infer<typeof EpisodeSummarySchema>;
