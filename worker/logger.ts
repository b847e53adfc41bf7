// The worker's log: JSON lines on stderr, one for each unit of work, without secrets.
import { pino, type DestinationStream, type Logger } from 'pino';

/** Fields whose value is never written, at the top and up to two levels down. */
const secretFields = ['authorization', 'apiKey', 'password', 'secret', 'token', 'headers', 'env'];
const secretPaths = secretFields.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
/** Variables whose value is taken out of every line, wherever it stands: also inside messages. */
const secretVariable = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;
/** A shorter value is more often a word of ours too (a queue, a bucket) than a key: those have 16 characters and more. */
const secretLength = 12;
const redacted = '[redacted]';

export interface LoggerOptions {
  readonly level: string;
  /** Where secrets are known from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: stderr, written at once, since stdout belongs to results. */
  readonly destination?: DestinationStream;
}

/** Redacts by field name, and by value what the environment holds under a name that says secret. */
export function createLogger({ level, env, destination }: LoggerOptions): Logger {
  const secrets = secretsOf(env);
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths, censor: redacted },
      hooks: {
        streamWrite: (line) => secrets.reduce((text, secret) => text.replaceAll(secret, redacted), line),
      },
    },
    destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** The secrets as they stand in a JSON line, longest first, so that none is left as the tail of another. */
function secretsOf(env: LoggerOptions['env']): readonly string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    secretVariable.test(name) && value !== undefined && value.length >= secretLength
      ? [value, JSON.stringify(value).slice(1, -1)]
      : [],
  );
  return [...new Set(values)].sort((a, b) => b.length - a.length);
}
