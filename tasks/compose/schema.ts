// The shapes of the kept keys of a service, each as compose takes it: strings, lists and tables for the same thing.
import { z } from 'zod';
import { parseBytesAsMiB, parseCores, parseDuration } from './amounts.ts';
import { splitWords } from './words.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const strings = z.array(scalar);
const stringOrList = z.union([scalar.transform((text) => [text]), strings]);

/** A value parsed by `parse`; `error` says what it must be. */
const parsed = <T>(parse: (value: string | number) => T | null, error: string) =>
  z.union([z.string(), z.number()], { error }).transform((value, context) => {
    const found = parse(value);
    if (found === null) {
      context.issues.push({ code: 'custom', message: error, input: value });
      return z.NEVER;
    }
    return found;
  });

const duration = parsed((value) => parseDuration(String(value)), 'must be a duration: 10s, 1m30s, 500ms');
const wait = duration.refine((seconds) => seconds > 0, { error: 'must be longer than 0' });
const bytes = parsed(parseBytesAsMiB, 'must be an amount of bytes above 0: 512m, 2g');
const cores = parsed(parseCores, 'must be a number of CPUs above 0: 2, "1.5"');
const count = parsed(
  (value) => (/^-?\d+$/.test(String(value)) ? Number(value) : null),
  'must be a whole number',
);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')], {
  error: 'must be true or false',
});

/** One string is split into words, and no shell sees it. */
const argv = z.union([
  z.string().transform((text, context) => {
    const words = splitWords(text);
    if (words !== null) return words;
    context.issues.push({ code: 'custom', message: 'has a quote that nothing closes', input: text });
    return z.NEVER;
  }),
  strings,
]);

/** NAME=value lines or a table; null: the value of the host. */
const variables = z.union([
  strings.transform((lines) =>
    Object.fromEntries(
      lines.map((line): [string, string | null] => {
        const at = line.indexOf('=');
        return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)];
      }),
    ),
  ),
  z.record(z.string(), scalar.nullable()),
]);

/** A list of names is a table of them with nothing said of any. */
const listed = (value: unknown): unknown =>
  Array.isArray(value) ? Object.fromEntries(value.map((name: unknown) => [String(name), {}])) : value;

const dependsOn = z.preprocess(
  listed,
  z.record(
    z.string(),
    z.strictObject({
      condition: z
        .enum(['service_started', 'service_healthy', 'service_completed_successfully'])
        .default('service_started'),
      restart: flag.optional(),
      required: flag.default(true),
    }),
  ),
);

const healthcheck = z.strictObject({
  test: z.union([z.string(), strings]).optional(),
  interval: wait.optional(),
  timeout: wait.optional(),
  start_period: duration.optional(),
  start_interval: wait.optional(),
  retries: count.refine((number) => number >= 1, { error: 'must be 1 or more' }).optional(),
  disable: flag.optional(),
});

const longVolume = z.strictObject({
  type: z.enum(['volume', 'bind', 'tmpfs', 'image', 'npipe', 'cluster']),
  source: z.string().optional(),
  target: z.string(),
  read_only: flag.default(false),
  bind: z.record(z.string(), z.unknown()).optional(),
  volume: z
    .strictObject({ nocopy: flag.optional(), subpath: z.string().optional(), labels: z.unknown().optional() })
    .optional(),
  tmpfs: z.strictObject({ size: bytes.optional(), mode: z.unknown().optional() }).optional(),
  consistency: z.string().optional(),
});

const network = z.strictObject({
  aliases: strings.default([]),
  driver_opts: z.unknown().optional(),
  gw_priority: z.unknown().optional(),
  interface_name: z.unknown().optional(),
  ipv4_address: z.string().optional(),
  ipv6_address: z.string().optional(),
  link_local_ips: strings.optional(),
  mac_address: z.string().optional(),
  priority: z.unknown().optional(),
});

const asPath = (value: unknown): unknown => (typeof value === 'string' ? { path: value } : value);

const longPort = z.object({ target: z.union([z.string(), z.number()]), protocol: z.string().optional() });

export const ServiceTableSchema = z.strictObject({
  build: z
    .preprocess(
      (value) => (typeof value === 'string' ? { context: value } : value),
      z.strictObject({
        context: z.string().default('.'),
        dockerfile: z.string().optional(),
        target: z.string().optional(),
        args: variables.optional(),
      }),
    )
    .optional(),
  cap_add: strings.optional(),
  command: argv.optional(),
  container_name: z.string().optional(),
  cpus: cores.optional(),
  depends_on: dependsOn.default({}),
  deploy: z
    .object({
      replicas: count.optional(),
      resources: z
        .object({
          limits: z
            .object({ cpus: cores.optional(), memory: bytes.optional(), pids: count.optional() })
            .optional(),
          reservations: z.object({ devices: z.array(z.unknown()).optional() }).optional(),
        })
        .optional(),
    })
    .optional(),
  entrypoint: argv.optional(),
  env_file: z
    .preprocess(
      (value) => (Array.isArray(value) ? value.map(asPath) : [asPath(value)]),
      z.array(
        z.strictObject({
          path: z.string(),
          required: flag.default(true),
          format: z.literal('raw').optional(),
        }),
      ),
    )
    .optional(),
  environment: variables.default({}),
  expose: strings.default([]),
  extra_hosts: z
    .union([
      strings,
      z
        .record(z.string(), stringOrList)
        .transform((table) =>
          Object.entries(table).flatMap(([name, addresses]) =>
            addresses.map((address) => `${name}=${address}`),
          ),
        ),
    ])
    .default([]),
  healthcheck: healthcheck.optional(),
  hostname: z.string().optional(),
  image: z.string().min(1).optional(),
  ipc: z.string().optional(),
  links: strings.default([]),
  mem_limit: bytes.optional(),
  network_mode: z.string().optional(),
  networks: z
    .preprocess(
      listed,
      z.record(
        z.string(),
        z.preprocess((table) => table ?? {}, network),
      ),
    )
    .optional(),
  pids_limit: count.optional(),
  platform: z.string().optional(),
  ports: z
    .array(z.union([scalar, longPort.transform(({ target, protocol }) => `${target}/${protocol ?? 'tcp'}`)]))
    .default([]),
  profiles: strings.default([]),
  restart: z.string().optional(),
  scale: count.optional(),
  security_opt: strings.default([]),
  shm_size: bytes.optional(),
  tmpfs: stringOrList.default([]),
  user: scalar.optional(),
  volumes: z.array(z.union([z.string(), longVolume])).default([]),
  working_dir: z.string().startsWith('/', { error: 'must be an absolute path' }).optional(),
});

export type ServiceTable = z.output<typeof ServiceTableSchema>;
export type VolumeEntry = ServiceTable['volumes'][number];
