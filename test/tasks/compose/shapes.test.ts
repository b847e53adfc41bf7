// Compose files of the shapes that people write, read whole: main, its sidecars, and what they are called by.
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { readGood, type FileSpec } from '../task-folder.ts';

const fixture = (name: string): Promise<string> =>
  readFile(new URL(`fixtures/${name}.yaml`, import.meta.url), 'utf8');

async function taskOf(name: string, files: Readonly<Record<string, FileSpec>> = {}) {
  const read = await readGood({ 'environment/docker-compose.yaml': await fixture(name), ...files });
  return { ...read, services: read.task.services ?? null };
}

const nothing = {
  entrypoint: null,
  command: null,
  user: null,
  healthcheck: null,
  dependsOn: [],
  mounts: [],
  restart: { policy: 'no' },
  shmMiB: null,
  ports: [],
};

it('an overlay adds a sidecar that main waits for', async () => {
  const { task, services, findings } = await taskOf('overlay', {
    'environment/orders-api/Dockerfile': 'FROM debian:12\n',
  });
  expect(findings).toEqual([]);
  expect(task.needs).toEqual(['compose']);
  expect(task.image).toEqual({ kind: 'build', dir: 'environment', dockerfile: 'Dockerfile' });
  expect(services).toEqual({
    main: { ...nothing, dependsOn: [{ service: 'orders-api', condition: 'healthy' }] },
    sidecars: [
      {
        ...nothing,
        name: 'orders-api',
        image: { kind: 'build', dir: 'environment/orders-api', dockerfile: 'Dockerfile' },
        env: {},
        workdir: null,
        cpus: null,
        memoryMiB: null,
        ports: [{ port: 7000, protocol: 'tcp' }],
        healthcheck: {
          argv: ['python3', '-c', "import socket; socket.create_connection(('localhost', 7000), 2).close()"],
          intervalSec: 2,
          timeoutSec: 5,
          startPeriodSec: 5,
          startIntervalSec: null,
          retries: 15,
        },
      },
    ],
    hosts: [{ address: '127.0.0.1', names: ['main', 'orders-api'] }],
  });
});

it('a file that writes out what the harness gives is read as if it had not, merge keys and variables resolved', async () => {
  const { task, services, findings } = await taskOf('whole', {
    'environment/schema.sql': 'create table t ();\n',
    'environment/seed.env': 'export ROWS="1\\t000" # a comment\nRAW=\'$NOT\'\nURL=http://ledger:5432 # db\n',
  });
  expect(findings).toEqual([]);
  expect(task.image).toEqual({
    kind: 'build',
    dir: 'environment',
    dockerfile: 'Dockerfile',
    args: { HTTP_PROXY: '' },
  });
  expect(task.env).toEqual({ TEST_DIR: '/tests', DSN: 'postgresql://desk:desk@ledger:5432/ledger' });
  // ${CPUS} and ${MEMORY} are the task's own: our default stays one (C02).
  expect([task.limits.cpus.setBy, task.limits.memoryMiB.setBy]).toEqual(['default', 'default']);
  expect(services?.main).toEqual({
    ...nothing,
    dependsOn: [
      { service: 'ledger', condition: 'healthy' },
      { service: 'seed', condition: 'completed' },
    ],
  });
  const [ledger, seed] = services?.sidecars ?? [];
  expect(ledger).toMatchObject({
    image: { kind: 'prebuilt', reference: 'postgres:16' },
    env: { POSTGRES_USER: 'desk', PGPORT: '5432' },
    // Nobody else mounts it: what the image has there, and its owner, stay.
    mounts: [
      { kind: 'folder', path: '/var/lib/postgresql/data' },
      { kind: 'files', source: 'environment/schema.sql', path: '/docker-entrypoint-initdb.d/schema.sql' },
    ],
    restart: { policy: 'always' },
    shmMiB: 256,
    memoryMiB: 512,
    healthcheck: { argv: ['/bin/sh', '-c', 'pg_isready -U desk -d ledger'], intervalSec: 1, retries: null },
  });
  expect(seed).toMatchObject({
    image: task.image,
    entrypoint: ['/usr/local/bin/seed', '--rows', '1 000'],
    env: { POSTGRES_DB: 'ledger', PGHOST: 'ledger', ROWS: '1\t000', RAW: '$NOT', URL: 'http://ledger:5432' },
    dependsOn: [{ service: 'ledger', condition: 'started' }],
    restart: { policy: 'no' },
  });
});

it('a file that describes one container is a task of one container, on every driver', async () => {
  const { task, findings } = await taskOf('plain');
  expect(findings).toEqual([]);
  expect([task.needs, task.services]).toEqual([[], undefined]);
  expect(task.env).toEqual({ TEST_DIR: '/tests' });
});

it('a sidecar may be called client: it is the agent’s only where terminal-bench’s variables say so', async () => {
  const { task } = await readGood({
    'environment/docker-compose.yaml': 'services: {client: {image: load:1}}\n',
  });
  expect(task.services?.sidecars.map(({ name }) => name)).toEqual(['client']);
  expect(task.services?.hosts).toEqual([{ address: '127.0.0.1', names: ['client', 'main'] }]);
});

it('shared volumes, aliases, ports of all forms and a service that comes after main are kept', async () => {
  const { task, services, findings } = await taskOf('pipeline', {
    'environment/Dockerfile': null,
    'environment/main/Dockerfile': 'FROM debian:12\n',
    'environment/feed/Dockerfile': 'FROM debian:12 AS server\n',
  });
  expect(findings).toEqual([]);
  expect(task).toMatchObject({
    image: { kind: 'build', dir: 'environment/main', dockerfile: 'Dockerfile' },
    workdir: '/srv',
  });
  expect(services?.main).toMatchObject({
    command: ['/usr/local/bin/run-connector.sh'],
    user: '10001:10001',
    mounts: [
      { kind: 'volume', volume: 'ingest', path: '/var/spool/ingest', readOnly: false },
      { kind: 'folder', path: '/srv/cache' },
      { kind: 'tmpfs', path: '/run/scratch', sizeMiB: 64 },
    ],
  });
  const [feed, load, ...more] = services?.sidecars ?? [];
  expect(more).toEqual([]);
  expect(feed).toMatchObject({
    image: { kind: 'build', dir: '.', dockerfile: 'environment/feed/Dockerfile', target: 'server' },
    mounts: [{ kind: 'volume', volume: 'ingest', path: '/out', readOnly: true }],
    ports: [
      { port: 8080, protocol: 'tcp' },
      { port: 9000, protocol: 'tcp' },
      { port: 9001, protocol: 'tcp' },
      { port: 53, protocol: 'udp' },
    ],
  });
  expect(load).toMatchObject({
    cpus: 0.5,
    memoryMiB: 1024,
    dependsOn: [{ service: 'main', condition: 'started' }],
  });
  expect(services?.hosts).toEqual([
    { address: '127.0.0.1', names: ['desk', 'feed', 'feed-1', 'load', 'main'] },
  ]);
});

it('what task.toml says of main stands over the file, and the file fills in the rest', async () => {
  const { task, findings } = await readGood({
    'task.toml': '[environment]\ncpus = 2\nworkdir = "/app"\nenv = {A = "toml"}\n',
    'environment/docker-compose.yaml':
      'services: {main: {cpus: 4, mem_limit: 1g, pids_limit: 64, working_dir: /srv, environment: {A: file, B: file}}}\n',
  });
  expect(task).toMatchObject({
    workdir: '/app',
    env: { A: 'toml', B: 'file' },
    limits: {
      cpus: { value: 2, setBy: 'task' },
      memoryMiB: { value: 1024, setBy: 'task' },
      pids: { value: 64, setBy: 'task' },
    },
  });
  expect(findings.map(({ reason }) => reason)).toEqual(['its cpus has no effect: task.toml says 2']);
});

it('the digest is moved by the file, by a sidecar’s context and by what is bound, and not by a README', async () => {
  const files = {
    'environment/docker-compose.yaml': 'services: {db: {build: ./db, volumes: ["../seed:/seed:ro"]}}\n',
    'environment/db/Dockerfile': 'FROM debian:12\n',
    'seed/rows.csv': '1\n',
  };
  const digestOf = async (changes: Readonly<Record<string, FileSpec>>) =>
    (await readGood({ ...files, ...changes })).digest;
  const before = await digestOf({});
  expect(await digestOf({ 'README.md': 'About.\n' })).toBe(before);
  for (const changes of [
    { 'environment/docker-compose.yaml': `${files['environment/docker-compose.yaml']}# said\n` },
    { 'environment/db/Dockerfile': 'FROM debian:13\n' },
    { 'seed/rows.csv': '2\n' },
  ]) {
    expect(await digestOf(changes)).not.toBe(before);
  }
});
