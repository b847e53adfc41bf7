// The services of a task of several containers: its sidecars, and what its compose file says of `main` beside them.
import { z } from 'zod';

/** What an image is made from: a folder of the task's package to build, or a reference. */
export const ImageOriginSchema = z.union([
  z.strictObject({
    kind: z.literal('build'),
    /** The context: a folder inside the package, `.` for the task's root without tests and solutions. */
    dir: z.string(),
    /** Inside the context. */
    dockerfile: z.string(),
    /** The stage to build; unset: the last. */
    target: z.string().min(1).optional(),
    args: z.record(z.string(), z.string()).optional(),
  }),
  z.strictObject({ kind: z.literal('prebuilt'), reference: z.string().min(1) }),
]);
export type ImageOrigin = z.infer<typeof ImageOriginSchema>;

/** Null where the image's own HEALTHCHECK says it, else the defaults of compose. */
export const ServiceHealthcheckSchema = z.strictObject({
  argv: z.array(z.string()).min(1).nullable(),
  intervalSec: z.number().positive().nullable(),
  timeoutSec: z.number().positive().nullable(),
  startPeriodSec: z.number().min(0).nullable(),
  startIntervalSec: z.number().positive().nullable(),
  retries: z.int().positive().nullable(),
});
export type ServiceHealthcheck = z.infer<typeof ServiceHealthcheckSchema>;

export const DependencySchema = z.strictObject({
  service: z.string(),
  condition: z.enum(['started', 'healthy', 'completed']),
});
export type Dependency = z.infer<typeof DependencySchema>;

const absolute = z.string().startsWith('/');

export const MountSchema = z.discriminatedUnion('kind', [
  /** A volume that is mounted at more than one place. */
  z.strictObject({ kind: z.literal('volume'), volume: z.string(), path: absolute, readOnly: z.boolean() }),
  z.strictObject({ kind: z.literal('tmpfs'), path: absolute, sizeMiB: z.number().positive().nullable() }),
  /** A volume that nobody else mounts: a folder of the service's own file system, made where its image lacks it. */
  z.strictObject({ kind: z.literal('folder'), path: absolute }),
  /** A file or folder of the task's package, laid in before the service starts. */
  z.strictObject({ kind: z.literal('files'), source: z.string(), path: absolute }),
]);
export type Mount = z.infer<typeof MountSchema>;

/** `no`: what ends stays ended. `retries` null: without end. */
export const RestartSchema = z.discriminatedUnion('policy', [
  z.strictObject({ policy: z.literal('no') }),
  z.strictObject({ policy: z.literal('always') }),
  z.strictObject({ policy: z.literal('on-failure'), retries: z.int().positive().nullable() }),
]);
export type Restart = z.infer<typeof RestartSchema>;

const port = z.strictObject({ port: z.int().min(1).max(65_535), protocol: z.enum(['tcp', 'udp', 'sctp']) });
export type ServicePort = z.infer<typeof port>;

const common = {
  /** Null: the image's. An entrypoint of the service's own leaves the image's CMD out. */
  entrypoint: z.array(z.string()).nullable(),
  /** Null: the image's CMD; of `main`, to wait for the agent. */
  command: z.array(z.string()).nullable(),
  /** A name or an id, `:GROUP` after it or not; null: the image's. */
  user: z.string().min(1).nullable(),
  /** `none`: the image's is not asked either. Null: the image's, where it has one. */
  healthcheck: z.union([z.literal('none'), ServiceHealthcheckSchema]).nullable(),
  dependsOn: z.array(DependencySchema),
  mounts: z.array(MountSchema),
  restart: RestartSchema,
  /** Size of /dev/shm; null: the platform's 64 MiB. */
  shmMiB: z.number().positive().nullable(),
  /** Ports that the file says it listens on: in one network namespace no two services may have the same. */
  ports: z.array(port),
};

/** `main`: its image, environment, work directory and limits are the task's own. */
export const MainServiceSchema = z.strictObject(common);
export type MainService = z.infer<typeof MainServiceSchema>;

export const ServiceSchema = z.strictObject({
  ...common,
  name: z.string().min(1),
  image: ImageOriginSchema,
  env: z.record(z.string(), z.string()),
  /** Null: the image's. */
  workdir: z.string().nullable(),
  cpus: z.number().positive().nullable(),
  memoryMiB: z.number().positive().nullable(),
});
export type Service = z.infer<typeof ServiceSchema>;

export const TaskServicesSchema = z.strictObject({
  main: MainServiceSchema,
  /** In the file's order. */
  sidecars: z.array(ServiceSchema),
  /** Names that all services find in /etc/hosts: each other's, at 127.0.0.1, and the file's extra_hosts. */
  hosts: z.array(z.strictObject({ address: z.string(), names: z.array(z.string()).min(1) })),
});
export type TaskServices = z.infer<typeof TaskServicesSchema>;

/** Limits of a sidecar that names none: those that a task has by default (domain/task.ts), recorded in docs/compose.md. */
export const defaultSidecar = { cpus: 1, memoryMiB: 2048 } as const;

/** A port that two services listen on, with both; null where there is none. */
export function sharedPort(
  services: readonly { readonly name: string; readonly ports: readonly ServicePort[] }[],
): { readonly port: string; readonly services: readonly [string, string] } | null {
  const owners = new Map<string, string>();
  for (const { name, ports } of services) {
    for (const { port: number, protocol } of ports) {
      const key = protocol === 'tcp' ? String(number) : `${number}/${protocol}`;
      const owner = owners.get(key);
      if (owner !== undefined && owner !== name) return { port: key, services: [owner, name] };
      owners.set(key, name);
    }
  }
  return null;
}
