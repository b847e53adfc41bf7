// The tables of task.toml as schemas: types, ranges and grammars of single values. Rules between values are in config.ts.
import { z } from 'zod';
import { normaliseHost } from './allowed-hosts.ts';
import { parseCpus, parseMiB } from './quantity.ts';

// The format takes "2" for 2.
const numeric = (value: unknown): unknown =>
  typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;

const aboveZero = 'must be a finite number greater than 0';
const seconds = z.preprocess(numeric, z.number({ error: aboveZero }).positive({ error: aboveZero }));
const secondsOrZero = z.preprocess(numeric, z.number({ error: 'must be a number of 0 or more' }).min(0));
const count = z.preprocess(numeric, z.int({ error: 'must be a whole number' }).min(0));

const quantity = (parse: (value: string | number) => number | null, error: string) =>
  z.union([z.string(), z.number()], { error }).transform((value, context) => {
    const parsed = parse(value);
    if (parsed === null) context.issues.push({ code: 'custom', message: error, input: value });
    return parsed ?? 0;
  });
const cpus = quantity(parseCpus, 'must be a number of CPUs greater than 0: 2, 1.5 or "500m"');
const amount = quantity(
  parseMiB,
  'must be greater than 0: a number of MB, or a string such as "512M", "2G" or "2Gi"',
);

const user = z.union([z.string().min(1), z.int().min(0)], {
  error: 'must be a user name or a numeric id of 0 or more',
});
const env = z.record(
  z.string().regex(/^[^=\0]+$/, { error: 'is no name of an environment variable' }),
  z.string({ error: 'must be a string: write numbers and booleans in quotes' }),
);

const networkMode = z.enum(['public', 'no-network', 'allowlist'], {
  error: 'must be "public", "no-network" or "allowlist"',
});
const allowedHosts = z.array(
  z.string().transform((entry, context) => {
    const host = normaliseHost(entry);
    const message =
      'must be a host name, *.name, an IP address or a CIDR range, without scheme, port or path';
    if (host === null) context.issues.push({ code: 'custom', message, input: entry });
    return host ?? entry;
  }),
);
const network = { network_mode: networkMode.optional(), allowed_hosts: allowedHosts.optional() };

const healthcheck = z.strictObject({
  command: z.string().min(1),
  interval_sec: seconds.default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: secondsOrZero.default(0),
  start_interval_sec: seconds.default(5),
  retries: z.preprocess(numeric, z.int().positive({ error: 'must be 1 or more' })).default(3),
});

const artifact = z.preprocess(
  (value) => (typeof value === 'string' ? { source: value } : value),
  z.strictObject({
    source: z.string().min(1),
    destination: z.string().optional(),
    exclude: z.array(z.string()).default([]),
    service: z.string().optional(),
  }),
);
const artifacts = z.array(artifact);

// A credential in a header must be a template, so that no secret stands in a task folder.
const headers = z.record(z.string(), z.string()).superRefine((table, context) => {
  for (const [name, value] of Object.entries(table)) {
    if (/auth|key|token|secret|cookie|credential/i.test(name) && !/\$\{[^}]+\}/.test(value)) {
      context.addIssue({ code: 'custom', path: [name], message: 'a credential must be a ${VAR} template' });
    }
  }
});
const mcpServer = z
  .strictObject({
    name: z.string().min(1),
    transport: z.enum(['sse', 'streamable-http', 'http', 'stdio']).default('sse'),
    url: z.string().optional(),
    command: z.string().optional(),
    args: z.array(z.string()).default([]),
    headers: headers.optional(),
  })
  .superRefine((server, context) => {
    const wanted = server.transport === 'stdio' ? 'command' : 'url';
    if (server[wanted] === undefined) {
      context.addIssue({ code: 'custom', path: [wanted], message: `transport ${server.transport} needs it` });
    }
  });

const environment = z.strictObject({
  ...network,
  build_timeout_sec: seconds.optional(),
  docker_image: z.string().min(1).optional(),
  os: z
    .preprocess(
      (value) => (typeof value === 'string' ? value.toLowerCase() : value),
      z.enum(['linux', 'windows'], { error: 'must be "linux" or "windows"' }),
    )
    .default('linux'),
  cpus: cpus.optional(),
  memory_mb: amount.optional(),
  storage_mb: amount.optional(),
  memory: amount.optional(),
  storage: amount.optional(),
  gpus: count.optional(),
  gpu_types: z.array(z.string()).optional(),
  tpu: z
    .strictObject({
      type: z.string().min(1),
      topology: z.string().regex(/^\d+x\d+(x\d+)?$/, { error: 'must be NxM or NxMxK' }),
    })
    .optional(),
  mcp_servers: z.array(mcpServer).optional(),
  env: env.default({}),
  skills_dir: z.string().min(1).optional(),
  healthcheck: healthcheck.optional(),
  workdir: z.string().startsWith('/', { error: 'must be an absolute path' }).optional(),
  allow_internet: z.boolean({ error: 'must be true or false' }).optional(),
});

const agent = z.strictObject({ timeout_sec: seconds.optional(), user: user.optional(), ...network });

const collect = z.strictObject({
  command: z.string().min(1),
  service: z.string().default('main'),
  timeout_sec: seconds.default(60),
  user: user.optional(),
});

const verifier = z.strictObject({
  timeout_sec: seconds.optional(),
  env: env.default({}),
  user: user.optional(),
  environment_mode: z.enum(['shared', 'separate'], { error: 'must be "shared" or "separate"' }).optional(),
  environment: environment.optional(),
  collect: z.array(collect).default([]),
  ...network,
});

const number = z.number({ error: 'must be a finite number' });
const step = z.strictObject({
  name: z.string().min(1),
  agent: agent.prefault({}),
  verifier: verifier.prefault({}),
  min_reward: z
    .union([number, z.record(z.string(), number)], { error: 'must be a number, or a table of numbers' })
    .optional(),
  healthcheck: healthcheck.optional(),
  artifacts: artifacts.default([]),
});

const task = z.strictObject({
  name: z
    .string()
    .refine(
      (name) =>
        /^[A-Za-z0-9_][A-Za-z0-9._-]*\/[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(name) && !name.includes('..'),
      {
        error: 'must be org/name, of letters, digits, ".", "_" and "-"',
      },
    )
    .optional(),
  version: z.string().optional(),
  description: z.string().default(''),
  authors: z.array(z.strictObject({ name: z.string(), email: z.string().optional() })).default([]),
  keywords: z.array(z.string()).default([]),
});

const free = z.record(z.string(), z.unknown());

export const TaskTomlSchema = z.strictObject({
  schema_version: z.string().optional(),
  version: z.string().optional(),
  source: z.string().optional(),
  multi_step_reward_strategy: z.enum(['mean', 'final'], { error: 'must be "mean" or "final"' }).optional(),
  artifacts: artifacts.default([]),
  task: task.prefault({}),
  metadata: free.optional(),
  solution: z.strictObject({ env: env.default({}) }).prefault({}),
  agent: agent.prefault({}),
  verifier: verifier.prefault({}),
  environment: environment.prefault({}),
  steps: z.array(step).default([]),
});

export type TaskToml = z.output<typeof TaskTomlSchema>;
export type EnvironmentTable = TaskToml['environment'];
export type StepTable = TaskToml['steps'][number];
