// Keys and values of task.toml: who set what, what is unknown, what is out of range, each with its line.
import { describe, expect, it } from 'vitest';
import { defaultLimits } from '../../domain/task.ts';
import { resolveEnv } from '../../tasks/env-templates.ts';
import { findingsOf, readGood, readToml } from './task-folder.ts';

describe('limits and who set them', () => {
  it('reads the agent timeout from [agent], and marks it as the task’s (C01)', async () => {
    const { task } = await readToml('[agent]\ntimeout_sec = 30\n[verifier]\ntimeout_sec = 45.5\n');
    expect(task.limits.agentSec).toEqual({ value: 30, setBy: 'task' });
    expect(task.steps[0]?.agentSec).toEqual({ value: 30, setBy: 'task' });
    expect(task.limits.verifierSec).toEqual({ value: 45.5, setBy: 'task' });
  });

  it('says where an agent timeout in another table belongs, and keeps the default (C01)', async () => {
    const { task, findings } = await readToml('timeout_sec = 30\n[environment]\ntimeout_sec = 30\n');
    expect(task.limits.agentSec).toEqual({ value: 1800, setBy: 'default' });
    expect(findings.map(({ key, line }) => [key, line])).toEqual([
      ['timeout_sec', 1],
      ['environment.timeout_sec', 3],
    ]);
    expect(findings[0]?.reason).toContain('[agent]');
  });

  it('records every undeclared limit as defaulted, never as the task’s (C02)', async () => {
    const { task } = await readToml('version = "1.0"\n[environment]\n');
    for (const [name, value] of Object.entries(defaultLimits)) {
      expect(task.limits[name as keyof typeof defaultLimits]).toEqual({ value, setBy: 'default' });
    }
    expect(task.buildTimeoutSec).toEqual({ value: 600, setBy: 'default' });
  });

  it('lets the sweep override a limit of every step, and refuses 0 as an override', async () => {
    const { task } = await readToml('[agent]\ntimeout_sec = 30\n', { overrides: { agentSec: 5, pids: 64 } });
    expect(task.limits.agentSec).toEqual({ value: 5, setBy: 'sweep' });
    expect(task.steps[0]?.agentSec).toEqual({ value: 5, setBy: 'sweep' });
    expect(task.limits.pids).toEqual({ value: 64, setBy: 'sweep' });
    await expect(readToml('', { overrides: { agentSec: 0 } })).rejects.toThrow('limits.agentSec');
  });

  it.each([
    ['memory = "2G"', 2048],
    ['memory = "2Gi"', 2048],
    ['memory = "512M"', 512],
    ['memory = "524288K"', 512],
    ['memory = 2048', 2048],
    ['memory_mb = 4096', 4096],
    ['memory_mb = "4096"', 4096],
  ])('reads %s as %d MiB', async (line, expected) => {
    const { task } = await readToml(`[environment]\n${line}\n`);
    expect(task.limits.memoryMiB).toEqual({ value: expected, setBy: 'task' });
  });

  it.each([
    ['cpus = 2', 2],
    ['cpus = 0.5', 0.5],
    ['cpus = "500m"', 0.5],
    ['cpus = "2"', 2],
  ])('reads %s as %d cores', async (line, expected) => {
    expect((await readToml(`[environment]\n${line}\n`)).task.limits.cpus.value).toBe(expected);
  });
});

describe('values that are refused', () => {
  it.each([
    ['[agent]\ntimeout_sec = 0', 'agent.timeout_sec', 2],
    ['[agent]\ntimeout_sec = -5', 'agent.timeout_sec', 2],
    ['[agent]\n\ntimeout_sec = inf', 'agent.timeout_sec', 3],
    ['[agent]\ntimeout_sec = nan', 'agent.timeout_sec', 2],
    ['[agent]\ntimeout_sec = "soon"', 'agent.timeout_sec', 2],
    ['[verifier]\ntimeout_sec = 0.0', 'verifier.timeout_sec', 2],
    ['[environment]\ncpus = 0', 'environment.cpus', 2],
    ['[environment]\ncpus = "2 cores"', 'environment.cpus', 2],
    ['[environment]\nmemory_mb = 0', 'environment.memory_mb', 2],
    ['[environment]\nmemory = "2GB"', 'environment.memory', 2],
    ['[environment]\nmemory = "2G"\nmemory_mb = 2048', 'environment.memory', 2],
    ['[environment]\nstorage = "2G"\nstorage_mb = 2048', 'environment.storage', 2],
    ['[environment]\nmemory = true', 'environment.memory', 2],
    ['[environment]\nnetwork_mode = "open"', 'environment.network_mode', 2],
    ['[environment]\nallowed_hosts = ["a.example"]', 'environment.allowed_hosts', 2],
    ['[environment]\nos = "plan9"', 'environment.os', 2],
    ['[environment]\ngpus = -1', 'environment.gpus', 2],
    ['[environment.env]\nA = 1', 'environment.env.A', 2],
    ['[environment.tpu]\ntype = "v5"\ntopology = "2by2"', 'environment.tpu.topology', 3],
    ['[environment.healthcheck]\ncommand = "true"\nretries = 0', 'environment.healthcheck.retries', 3],
    ['[verifier]\nenvironment_mode = "both"', 'verifier.environment_mode', 2],
    ['[verifier]\nenvironment_mode = "shared"\n[verifier.environment]', 'verifier.environment_mode', 2],
    ['[agent]\nuser = ""', 'agent.user', 2],
    ['[agent]\nuser = true', 'agent.user', 2],
    ['[task]\nname = "no-org"', 'task.name', 2],
    ['[task]\nname = "org/a..b"', 'task.name', 2],
    ['multi_step_reward_strategy = "best"', 'multi_step_reward_strategy', 1],
    ['agent = 5', 'agent', 1],
  ])('rejects %j at %s, line %i', async (toml, key, line) => {
    const found = await findingsOf({ 'task.toml': `${toml}\n` });
    expect(found).toEqual([
      expect.stringMatching(`^error task\\.toml:${line} ${key.replaceAll('.', '\\.')} `),
    ]);
  });

  it.each(['a.example', '*.a.example', '10.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8', 'A.Example.'])(
    'takes %s as an allowed host',
    async (host) => {
      const toml = `[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["${host}"]\n`;
      expect((await readToml(toml)).task.needs).toEqual(['allowlist']);
    },
  );

  it.each([
    'https://a.example',
    'a.example:80',
    'a.example/x',
    '*.10.0.0.1',
    '10.0.0.0/64',
    '300.1.1.1',
    '*',
  ])('refuses %s as an allowed host', async (host) => {
    const toml = `[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["ok.example", "${host}"]\n`;
    expect(await findingsOf({ 'task.toml': toml })).toEqual([
      expect.stringMatching(/^error task\.toml:3 environment\.allowed_hosts\.1 /),
    ]);
  });
});

describe('keys that the format does not have', () => {
  const toml = 'version = "1.0"\n[agent]\ntimeout_secs = 5\n[envirnoment]\ncpus = 2\n';

  it('names each with its line and the nearest known one, as a warning (C04)', async () => {
    expect(await findingsOf({ 'task.toml': toml })).toEqual([
      expect.stringMatching(/^warning task\.toml:3 agent\.timeout_secs .*"timeout_sec"/),
      expect.stringMatching(/^warning task\.toml:4 envirnoment unknown table .*"environment"/),
    ]);
  });

  it('makes them errors under strict (C04)', async () => {
    const found = await findingsOf({ 'task.toml': toml }, { strict: true });
    expect(found).toHaveLength(2);
    expect(found.every((finding) => finding.startsWith('error '))).toBe(true);
  });

  it('reports them beside a wrong value, and in every kind of table', async () => {
    const found = await findingsOf({
      'task.toml':
        'artifacts = [{source = "/a", destintion = "b"}]\n[agent]\ntimeout = 5\ntimeout_sec = 0\n' +
        '[environment]\ntype = "docker"\n[environment.healthcheck]\ncommand = "true"\nretry = 2\n' +
        '[[verifier.collect]]\ncommand = "true"\nusr = "root"\n',
    });
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^warning task\.toml:1 artifacts\.0\.destintion .*"destination"/),
        expect.stringMatching(/^warning task\.toml:3 agent\.timeout .*"timeout_sec"/),
        expect.stringMatching(/^warning task\.toml:6 environment\.type /),
        expect.stringMatching(/^warning task\.toml:9 environment\.healthcheck\.retry .*"retries"/),
        expect.stringMatching(/^warning task\.toml:12 verifier\.collect\.0\.usr .*"user"/),
        expect.stringMatching(/^error task\.toml:4 agent\.timeout_sec /),
      ]),
    );
    expect(found).toHaveLength(6);
  });

  it('leaves [metadata] and extra free, and takes version for schema_version', async () => {
    const { findings } = await readToml(
      'version = "2.0"\n[metadata]\nanything = {a = [1, 2]}\n[agent]\nextra = {x = 1}\n[extra]\ny = 2\n',
      { strict: true },
    );
    expect(findings).toEqual([]);
  });
});

describe('files that cannot be read as task.toml', () => {
  it('names the line of a table that is written twice', async () => {
    expect(await findingsOf({ 'task.toml': '[agent]\n[verifier]\n[agent]\n' })).toEqual([
      expect.stringMatching(/^error task\.toml:3 - is not valid TOML/),
    ]);
  });

  it('reads CRLF and a byte order mark', async () => {
    const { task } = await readToml('\uFEFF[agent]\r\ntimeout_sec = 30\r\n');
    expect(task.limits.agentSec.value).toBe(30);
  });

  it('refuses what is no UTF-8', async () => {
    expect(await findingsOf({ 'task.toml': new Uint8Array([0xff, 0xfe, 0x00]) })).toEqual([
      'error task.toml:- - is not UTF-8 text',
    ]);
  });
});

describe('network, users, environment', () => {
  it.each([
    ['', 'no-network', false],
    ['[environment]\nallow_internet = true', 'public', true],
    ['[environment]\nallow_internet = false', 'no-network', false],
    ['[environment]\nallow_internet = true\nnetwork_mode = "no-network"', 'no-network', false],
    ['[environment]\nnetwork_mode = "no-network"\n[agent]\nnetwork_mode = "public"', 'public', true],
    ['[verifier]\nnetwork_mode = "public"', 'no-network', true],
  ])('of %j the agent has %s, declared: %s', async (toml, networkMode, networkDeclared) => {
    expect((await readToml(toml)).task).toMatchObject({ networkMode, networkDeclared });
  });

  it('says that allow_internet gives way to network_mode', async () => {
    expect(
      await findingsOf({
        'task.toml': '[environment]\nallow_internet = true\nnetwork_mode = "no-network"\n',
      }),
    ).toEqual([expect.stringMatching(/^warning task\.toml:2 environment\.allow_internet /)]);
  });

  it('keeps users, environment, healthcheck, hooks and artifacts', async () => {
    const { task } = await readToml(`
artifacts = ["/app/out", {source = "/app/log", destination = "log", exclude = ["*.tmp"]}]
[task]
name = "org/hello"
description = "says hello"
[agent]
user = "dev"
[verifier]
user = 1000
env = {MODE = "fast"}
[[verifier.collect]]
command = "dump"
[environment]
workdir = "/app"
env = {A = "1"}
healthcheck = {command = "curl localhost", start_period_sec = 0}
[solution]
env = {TOKEN = "x"}
`);
    expect(task).toMatchObject({
      name: 'org/hello',
      description: 'says hello',
      workdir: '/app',
      env: { A: '1' },
      solutionEnv: { TOKEN: 'x' },
      healthcheck: {
        command: 'curl localhost',
        intervalSec: 5,
        timeoutSec: 30,
        startPeriodSec: 0,
        retries: 3,
      },
      collect: [{ command: 'dump', service: 'main', timeoutSec: 60, user: null }],
    });
    expect(task.steps[0]).toMatchObject({
      name: 'main',
      agentUser: 'dev',
      verifierUser: 1000,
      verifierEnv: { MODE: 'fast' },
      artifacts: [
        { source: '/app/out', destination: null, exclude: [], service: null },
        { source: '/app/log', destination: 'log', exclude: ['*.tmp'], service: null },
      ],
    });
  });

  it('asks for the variables of templates at reading, keeps the templates, and resolves them later', async () => {
    const toml =
      '[environment.env]\nKEY = "${TASK_KEY}"\nMODE = "${TASK_MODE:-fast}"\nPLAIN = "a ${TASK_KEY}"\n';
    expect(await findingsOf({ 'task.toml': toml })).toEqual([
      expect.stringMatching(/^error task\.toml:2 environment\.env\.KEY .*TASK_KEY/),
    ]);
    const { task } = await readToml(toml, { env: { TASK_KEY: 'secret' } });
    expect(JSON.stringify(task)).not.toContain('secret');
    expect(resolveEnv(task.env, { TASK_KEY: 'secret' })).toEqual({
      KEY: 'secret',
      MODE: 'fast',
      PLAIN: 'a ${TASK_KEY}',
    });
    expect(() => resolveEnv(task.env, {})).toThrow('KEY needs the variable TASK_KEY');
  });
});

describe('environment_mode and verifier images', () => {
  it.each([
    ['', null],
    ['[verifier]\nenvironment_mode = "shared"', 'shared'],
    ['[verifier]\nenvironment_mode = "separate"', 'separate'],
    ['[verifier.environment]', 'separate'],
  ])('of %j the mode is %s', async (toml, mode) => {
    expect((await readToml(toml)).task.environmentMode).toBe(mode);
  });

  it('takes the verifier’s image from its table, which then owns its tests', async () => {
    const { task } = await readGood({
      'task.toml': '[verifier.environment]\ndocker_image = "grader:1"\n',
      'tests/test.sh': null,
    });
    expect(task.verifierImage).toEqual({ kind: 'prebuilt', reference: 'grader:1' });
    expect(task.environmentMode).toBe('separate');
  });

  it('takes tests/Dockerfile as the verifier’s image, but not in shared mode', async () => {
    const dockerfile = { 'tests/Dockerfile': 'FROM debian:12\nCOPY test.sh /tests/test.sh\n' };
    expect((await readGood(dockerfile)).task).toMatchObject({
      verifierImage: { kind: 'build', dir: 'tests', dockerfile: 'Dockerfile' },
      environmentMode: 'separate',
    });
    const shared = { ...dockerfile, 'task.toml': '[verifier]\nenvironment_mode = "shared"\n' };
    expect((await readGood(shared)).task.verifierImage).toBeNull();
  });

  it('says which values of [verifier.environment] do nothing', async () => {
    expect(await findingsOf({ 'task.toml': '[verifier.environment]\nmemory_mb = 512\n' })).toEqual([
      expect.stringMatching(/^warning task\.toml:2 verifier\.environment\.memory_mb /),
    ]);
  });
});
