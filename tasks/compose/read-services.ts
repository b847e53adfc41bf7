// environment/docker-compose.yaml read whole: main beside its sidecars, and every thing that one pod cannot give by name.
import type { ImageOrigin, MainService, Service, TaskServices } from '../../domain/services.ts';
import type { Limits } from '../../domain/task.ts';
import type { Findings } from '../findings.ts';
import type { Layout } from '../layout.ts';
import { checkBounds } from './bounds.ts';
import { composeFile, type ComposeFile } from './compose-file.ts';
import { checkDependencies, dependenciesOf } from './dependencies.ts';
import { isTable, readYaml, type Table } from './document.ts';
import { readEnvFile } from './env-file.ts';
import { environmentOf } from './environment.ts';
import { healthOf } from './health.ts';
import { buildKeys, serviceKeys, topKeys } from './keys.ts';
import { mountsOf } from './mounts.ts';
import { checkNetworks, checkPorts, hostsOf, portsOf, type NamedTable } from './networks.ts';
import { builtNames, buildOf, originOf } from './origins.ts';
import { restartOf } from './restart.ts';
import { ServiceTableSchema, type ServiceTable } from './schema.ts';
import { filledIn, keptKeys, parsedTable } from './tables.ts';
import { harnessVariables, mainImageName } from './variables.ts';
import { resolveMounts } from './volumes.ts';
import { onlyWaits } from './words.ts';

export interface ReadCompose {
  /** Inside the task. */
  readonly path: string;
  readonly layout: Layout;
  readonly findings: Findings;
  /** The task's, before the file has said anything of them. */
  readonly limits: Limits;
  /** The image that the task has without the file; null: the file must name one. */
  readonly image: ImageOrigin | null;
}

export interface ComposeServices extends TaskServices {
  /** What the file says of main that is the task's own: null where it says nothing. */
  readonly ofTask: {
    readonly image: ImageOrigin | null;
    readonly env: Readonly<Record<string, string>>;
    readonly workdir: string | null;
    readonly cpus: number | null;
    readonly memoryMiB: number | null;
    readonly pids: number | null;
  };
}

interface Read extends NamedTable {
  readonly isMain: boolean;
  readonly build: ImageOrigin | null;
}

/** Null after an error finding. */
export async function readServices(context: ReadCompose): Promise<ComposeServices | null> {
  const { path, layout, findings, limits } = context;
  const text = await layout.readText(path, findings);
  if (text === null) return null;
  const reading = readYaml(text);
  if (!reading.ok) {
    findings.error({ file: path, line: reading.line }, `is not valid YAML: ${reading.message}`);
    return null;
  }
  const { document } = reading;
  const variables = new Map([...(await dotEnv(context)), ...harnessVariables(limits)]);
  const file = composeFile({ path, layout, variables, findings, lineOf: document.lineOf });
  for (const { tag, line } of document.tags) {
    findings.error({ file: path, line }, `compose: tag ${tag}: write the value out`, 'unsupported');
  }
  const top = isTable(document.value)
    ? keptKeys(file, [], document.value, { rules: topKeys, isMain: false })
    : {};
  const tables = isTable(top['services']) ? top['services'] : {};
  const main = agentService(tables);
  const read = [main, ...Object.keys(tables).filter((name) => name !== main)].flatMap((name) => {
    const table = readTable(file, name, tables[name] ?? {}, name === main);
    return table === null || (name !== main && table.profiles.length > 0)
      ? []
      : [{ name, table, isMain: name === main, build: buildOf(file, ['services', name], table) }];
  });
  const services = await built(context, file, { read, top, main });
  return findings.failed ? null : services;
}

/** terminal-bench calls it `client`, and says by its own variables that it means it so. */
function agentService(tables: Table): string {
  const isClient =
    !Object.hasOwn(tables, 'main') && JSON.stringify(tables['client'] ?? '').includes('T_BENCH_');
  return isClient ? 'client' : 'main';
}

function readTable(file: ComposeFile, name: string, value: unknown, isMain: boolean): ServiceTable | null {
  const at = ['services', name];
  if (!isTable(value)) {
    file.fail(at, 'is no table');
    return null;
  }
  const kept: Record<string, unknown> = { ...keptKeys(file, at, value, { rules: serviceKeys, isMain }) };
  if (isTable(kept['build'])) {
    kept['build'] = keptKeys(file, [...at, 'build'], kept['build'], { rules: buildKeys, isMain });
  }
  return parsedTable(file, at, ServiceTableSchema, filledIn(file, at, kept));
}

/** The folder's own .env: what it gives, the harness gives over it. */
async function dotEnv({ layout, findings }: ReadCompose): Promise<Map<string, string>> {
  const path = 'environment/.env';
  if (!layout.hasFile(path)) return new Map();
  const read = readEnvFile((await layout.readText(path, findings)) ?? '');
  if (read.ok) return new Map([...read.values].map(([name, { text }]) => [name, text]));
  findings.error({ file: path, line: read.line }, 'is no line of a file of variables: NAME=value');
  return new Map();
}

interface Reads {
  readonly read: readonly Read[];
  readonly top: Table;
  readonly main: string;
}

async function built(
  { findings, image }: ReadCompose,
  file: ComposeFile,
  { read, top, main }: Reads,
): Promise<ComposeServices | null> {
  const section = (name: string): Table => (isTable(top[name]) ? top[name] : {});
  const started = new Set(read.map(({ name }) => name));
  const mounts = resolveMounts(
    file,
    new Map(read.map((one) => [one.name, mountsOf(file, one)])),
    section('volumes'),
  );
  const names = builtNames(read);
  const own = read.find(({ isMain }) => isMain);
  const mainImage = own === undefined ? image : mainOrigin(own, image);
  const common = new Map<string, MainService>();
  const sidecars: Service[] = [];
  for (const one of read) {
    const { name, table, isMain } = one;
    const at = ['services', name];
    checkBounds(file, name, table, isMain);
    const parts: MainService = {
      entrypoint: table.entrypoint ?? null,
      command: table.command ?? null,
      user: table.user ?? null,
      healthcheck: healthOf(table.healthcheck),
      dependsOn: dependenciesOf(file, { name, table, started }),
      mounts: mounts.get(name) ?? [],
      restart: restartOf(file, one),
      shmMiB: table.shm_size ?? null,
      ports: portsOf(file, one),
    };
    common.set(name, parts);
    if (isMain) continue;
    const from = originOf(file, at, one, { built: names, main: mainImage });
    const env = await environmentOf(file, at, table, findings);
    if (from === null) continue;
    const { cpus, memoryMiB } = limitsOf(table);
    sidecars.push({ ...parts, name, image: from, env, workdir: table.working_dir ?? null, cpus, memoryMiB });
  }
  checkDependencies(file, common);
  checkPorts(
    file,
    [...common].map(([name, { ports }]) => ({ name, ports })),
  );
  checkNetworks(file, read, main, section('networks'));
  const mainParts = common.get(main);
  if (mainParts === undefined || own === undefined) return null;
  return {
    main: { ...mainParts, command: waiting(mainParts) ? null : mainParts.command },
    sidecars: sidecars.map((sidecar) => ({ ...sidecar, dependsOn: onMain(sidecar.dependsOn, main) })),
    hosts: hostsOf(file, read),
    ofTask: {
      image: mainImage,
      env: await mainEnvironment(file, own, findings),
      workdir: own.table.working_dir ?? null,
      ...limitsOf(own.table),
      pids: own.table.deploy?.resources?.limits?.pids ?? own.table.pids_limit ?? null,
    },
  };
}

/** The agent's own service under the name that it has everywhere else. */
const onMain = (dependsOn: Service['dependsOn'], main: string): Service['dependsOn'] =>
  dependsOn.map((dependency) =>
    dependency.service === main ? { ...dependency, service: 'main' } : dependency,
  );

/** A command that waits for the agent is what main does anyway; so is none. */
function waiting({ entrypoint, command }: MainService): boolean {
  return command !== null && (command.length === 0 || (entrypoint === null && onlyWaits(command)));
}

/** What the file builds, then what the folder has, then what the file names. */
function mainOrigin({ table, build }: Read, image: ImageOrigin | null): ImageOrigin | null {
  if (image?.kind === 'prebuilt') return image;
  const named = table.image !== undefined && table.image !== mainImageName ? table.image : null;
  return build ?? image ?? (named === null ? null : { kind: 'prebuilt', reference: named });
}

function limitsOf({ deploy, cpus, mem_limit: memory }: ServiceTable): {
  cpus: number | null;
  memoryMiB: number | null;
} {
  const limits = deploy?.resources?.limits;
  return { cpus: limits?.cpus ?? cpus ?? null, memoryMiB: limits?.memory ?? memory ?? null };
}

/** A task's environment holds templates of the host's variables: what only looks like one cannot go there. */
async function mainEnvironment(
  file: ComposeFile,
  { name, table }: Read,
  findings: Findings,
): Promise<Record<string, string>> {
  const env = await environmentOf(file, ['services', name], table, findings);
  for (const [key, value] of Object.entries(env)) {
    if (!/^\$\{[A-Za-z_]\w*(?::-[\s\S]*)?\}$/.test(value)) continue;
    file.refuse(
      ['services', name, 'environment', key],
      `a value that reads ${value}`,
      'it would be filled in',
    );
  }
  return env;
}
