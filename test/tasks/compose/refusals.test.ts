// What one pod cannot give is refused by its name, with file, key and line; what changes nothing is not said.
import { describe, expect, it } from 'vitest';
import { readTask } from '../../../tasks/read-task.ts';
import { makeTask, type FileSpec } from '../task-folder.ts';

const files = {
  'environment/data/a.csv': 'a\n',
  'environment/Dockerfile.other': 'FROM debian:12\n',
} satisfies Record<string, FileSpec>;

async function refused(text: string, more: Readonly<Record<string, FileSpec>> = {}) {
  const { findings } = await readTask(
    await makeTask({ ...files, ...more, 'environment/docker-compose.yaml': text }),
  );
  return findings
    .filter(({ severity }) => severity === 'error')
    .map(({ file, key, line, reason, rejection }) => {
      expect(file).toBe('environment/docker-compose.yaml');
      return `${rejection ?? ''} ${key ?? ''}:${line ?? ''} ${reason.split(': ').slice(0, 2).join(': ')}`;
    });
}

const main = (line: string) => `services:\n  main:\n    ${line}\n  db:\n    image: db:1\nvolumes: {data: }\n`;
const sidecar = (line: string) => `services:\n  db:\n    image: db:1\n    ${line}\nvolumes: {data: }\n`;

describe('a sidecar', () => {
  it.each([
    ['privileged: true', 'privileged', 'privileged'],
    ['network_mode: host', 'network_mode', 'network_mode host'],
    ['pid: host', 'pid', 'pid host'],
    ['ipc: host', 'ipc', 'ipc host'],
    ['devices: ["/dev/kvm:/dev/kvm"]', 'devices', 'devices'],
    ['runtime: nvidia', 'runtime', 'runtime nvidia'],
    ['cap_add: [KILL, SYS_PTRACE]', 'cap_add.1', 'cap_add SYS_PTRACE'],
    ['security_opt: ["seccomp=unconfined"]', 'security_opt.0', 'security_opt seccomp=unconfined'],
    ['sysctls: {net.core.somaxconn: 1024}', 'sysctls', 'sysctls'],
    ['platform: linux/arm64', 'platform', 'platform linux/arm64'],
    ['deploy: {replicas: 3}', 'deploy', '3 copies of db'],
    ['scale: 2', 'scale', '2 copies of db'],
    ['dns: 8.8.8.8', 'dns', 'dns 8.8.8.8'],
    ['extends: {service: base}', 'extends', 'extends'],
    ['secrets: [token]', 'secrets', 'secrets'],
    [
      'extra_hosts: ["host.docker.internal:host-gateway"]',
      'extra_hosts.0',
      'extra_hosts host.docker.internal:host-gateway',
    ],
    [
      'volumes: ["/var/run/docker.sock:/var/run/docker.sock"]',
      'volumes.0',
      'bind mount of /var/run/docker.sock',
    ],
    ['volumes: ["~/x:/x"]', 'volumes.0', 'bind mount of ~/x'],
    ['volumes: ["../../x:/x"]', 'volumes.0', 'bind mount of ../../x'],
    ['volumes: ["..:/task:ro"]', 'volumes.0', 'bind mount of ..'],
    ['volumes: ["../tests:/t:ro"]', 'volumes.0', 'bind mount of ../tests'],
    ['volumes: ["${HOST_ARTIFACTS_PATH}:/out"]', 'volumes.0', 'bind mount of the harness’s logs'],
    ['volumes: ["./data:/etc/resolv.conf:ro"]', 'volumes.0', 'mount at /etc/resolv.conf'],
    ['volumes: ["data:/opt"]', 'volumes.0', 'mount at /opt'],
    ['volumes: [{type: image, source: x, target: /x}]', 'volumes.0.type', 'volume of type image'],
    ['volumes: ["./data:/x:rslave"]', 'volumes.0', 'volume option rslave'],
    ['environment: [AWS_ACCESS_KEY_ID]', 'environment', 'variable AWS_ACCESS_KEY_ID'],
    ['environment: {KEY: "x${MODEL_KEY}"}', 'environment.KEY', 'variable MODEL_KEY'],
    ['quantum: yes', 'quantum', 'quantum'],
  ])('with %s is unsupported, by that name', async (line, key, name) => {
    expect(await refused(sidecar(line))).toEqual([`unsupported services.db.${key}:4 compose: ${name}`]);
  });

  it.each([
    ...['privileged: false', 'devices: []', 'init: true', 'tty: true', 'labels: {a: "${NOBODY}"}', 'x-a: 1'],
    ...['cap_add: [CHOWN, CAP_KILL]', 'cap_drop: [ALL]', 'read_only: true', 'ulimits: {nofile: 65536}'],
    ...['security_opt: ["no-new-privileges:true", "label=disable"]', 'platform: linux/amd64', 'scale: 1'],
    ...['network_mode: "service:main"', 'network_mode: none', 'ipc: shareable', 'logging: {driver: none}'],
    ...['volumes: ["data:/d", "/anonymous", "./data:/seed:ro,z"]', 'tmpfs: /run', 'stop_grace_period: 1m'],
    ...['restart: on-failure:3', 'environment: {A: "${B:-${C-c}}", D: "$$5"}', 'command: [a, 1]'],
  ])('with %s is not', async (line) => {
    expect(await refused(sidecar(line))).toEqual([]);
  });
});

describe('main', () => {
  it.each([
    ['read_only: true', 'read_only', 'read_only'],
    ['cap_drop: [ALL]', 'cap_drop', 'cap_drop'],
    ['ulimits: {nofile: 64}', 'ulimits', 'ulimits'],
    ['security_opt: ["no-new-privileges:true"]', 'security_opt.0', 'security_opt no-new-privileges'],
    ['volumes: ["data:/logs/agent"]', 'volumes.0', 'mount at /logs/agent'],
    ['volumes: ["./data:/tests"]', 'volumes.0', 'mount at /tests'],
    ['network_mode: none', 'network_mode', 'networks that keep main from db'],
    ['environment: {A: "$${HOME}"}', 'environment.A', 'a value that reads ${HOME}'],
    ['build: {context: ., dockerfile_inline: "FROM x"}', 'build.dockerfile_inline', 'dockerfile_inline'],
    ['build: {context: "https://example.org/x.git"}', 'build', 'build of https'],
    ['build: ../tests', 'build', 'build of ../tests'],
  ])('with %s is unsupported, by that name', async (line, key, name) => {
    const [first, ...rest] = await refused(main(line));
    expect(first).toContain(`unsupported services.main.${key}:3 compose: ${name}`);
    expect(rest).toEqual([]);
  });

  it.each([
    ...['volumes: ["./logs/verifier:/logs/verifier"]', 'volumes: ["${HOST_AGENT_LOGS_PATH}:/anywhere"]'],
    ...['build: {context: ., dockerfile: Dockerfile.other, cache_from: [x], network: host}'],
  ])('with %s is not', async (line) => {
    expect(await refused(main(line))).toEqual([]);
  });
});

describe('services together', () => {
  it.each([
    [
      'a port',
      'services:\n  a: {image: a, expose: [5432]}\n  b: {image: b, ports: ["1:5432"]}\n',
      ['unsupported services.b:3 compose: two services listen on port 5432 (a, b)'],
    ],
    [
      'networks that keep one from main',
      'services:\n  main: {networks: [front]}\n  db: {image: x, networks: [back]}\nnetworks: {front: , back: }\n',
      ['unsupported services.db.networks:3 compose: networks that keep main from db'],
    ],
    [
      'an address of its own',
      'services:\n  dns:\n    image: x\n    networks: {n: {ipv4_address: 10.0.0.53}}\n  main: {networks: [n]}\nnetworks: {n: }\n',
      ['unsupported services.dns.networks.n.ipv4_address:4 compose: ipv4_address'],
    ],
    [
      'an external network',
      'services:\n  main: {networks: [n]}\nnetworks:\n  n:\n    external: true\n',
      ['unsupported networks.n.external:5 compose: external network n'],
    ],
    [
      'a writable bind that two share',
      'services:\n  a: {image: a, volumes: ["./data:/d"]}\n  b: {image: b, volumes: ["./data/a.csv:/a:ro"]}\n',
      ['unsupported services.a.volumes.0:2 compose: writable bind mount of environment/data at two places'],
    ],
    [
      'a volume that is a folder of the host',
      'services:\n  a: {image: a, volumes: ["v:/v"]}\nvolumes:\n  v:\n    driver_opts: {type: none, o: bind, device: /}\n',
      ['unsupported volumes.v.driver_opts:5 compose: volume driver_opts'],
    ],
    [
      'a name that no host has',
      'services:\n  my_db: {image: a}\n',
      ['unsupported services.my_db:2 compose: the name my_db'],
    ],
    [
      'another file',
      'include: [more.yaml]\nservices: {a: {image: a}}\n',
      ['unsupported include:1 compose: include'],
    ],
    [
      'a tag of a merge',
      'services:\n  main:\n    command: !reset null\n',
      ['unsupported :3 compose: tag !reset'],
    ],
  ])('that have %s are unsupported, by that name', async (_, text, names) => {
    expect(await refused(text)).toEqual(names);
  });

  it.each([
    ['a circle', 'services:\n  a: {image: a, depends_on: [b]}\n  b: {image: b, links: [a]}\n', /a → b → a/],
    ['a wait for nobody', 'services:\n  a: {image: a, depends_on: [ghost]}\n', /ghost, which is no service/],
    [
      'a wait for what has no healthcheck',
      'services:\n  a: {image: a, depends_on: {b: {condition: service_healthy}}}\n  b: {image: b, healthcheck: {disable: true}}\n',
      /until b is healthy/,
    ],
    ['no image', 'services:\n  a: {command: x}\n', /neither an image nor a build/],
    ['no such Dockerfile', 'services:\n  a: {build: ./a}\n', /environment\/a\/Dockerfile, which is missing/],
    ['an open template', 'services:\n  a: {image: "${X"}\n', /that nothing closes/],
    [
      'a template that says so',
      'services:\n  a: {image: "${X:?give it}"}\n',
      /needs the variable X: give it/,
    ],
    ['an odd duration', 'services:\n  a: {image: a, healthcheck: {interval: 10}}\n', /must be a duration/],
    ['an odd amount', 'services:\n  a: {image: a, mem_limit: lots}\n', /must be an amount of bytes/],
    ['a volume that is not declared', 'services:\n  a: {image: a, volumes: ["v:/v"]}\n', /does not declare/],
    ['an open quote', 'services:\n  a: {image: a, command: "x \'y"}\n', /quote that nothing closes/],
    [
      'two things at one place',
      'services:\n  a: {image: a, tmpfs: [/t], volumes: [/t/]}\n',
      /second thing at \/t/,
    ],
  ])('that have %s are invalid: compose would not run them either', async (_, text, reason) => {
    const { findings } = await readTask(
      await makeTask({ ...files, 'environment/docker-compose.yaml': text }),
    );
    const errors = findings.filter(({ severity }) => severity === 'error');
    expect(errors.map((one) => one.rejection)).toEqual(['invalid']);
    expect(errors[0]?.reason).toMatch(reason);
    expect(errors[0]?.line).toBeGreaterThan(1);
  });
});

it('a verifier of several containers is unsupported, by that name', async () => {
  const { findings } = await readTask(
    await makeTask({ 'tests/docker-compose.yaml': 'services: {main: {}, db: {image: x}}\n' }),
  );
  expect(findings.map(({ file, reason, rejection }) => [file, rejection, reason.split(': ')[1]])).toEqual([
    ['tests/docker-compose.yaml', 'unsupported', 'services of the verifier'],
  ]);
});

it('variables of environment/.env are given, the harness’s over them', async () => {
  const text = 'services: {a: {image: "${NAME}:${TAG}", environment: {T: "${TEST_DIR}"}}}\n';
  const dir = await makeTask({
    'environment/docker-compose.yaml': text,
    'environment/.env': 'NAME=local/a\nTAG="1"\nTEST_DIR=/elsewhere\n',
  });
  const { read } = await readTask(dir, { env: { TAG: '2' } });
  expect(read?.task.services?.sidecars).toMatchObject([
    { image: { reference: 'local/a:1' }, env: { T: '/tests' } },
  ]);
});
