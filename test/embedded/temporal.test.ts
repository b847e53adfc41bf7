// The embedded Temporal server: one a folder, restarted on its database, ended when its owner is.
import { Client, Connection } from '@temporalio/client';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { identityOf } from '../../embedded/process-identity.ts';
import { startTemporal, type EmbeddedTemporal } from '../../embedded/temporal.ts';

let dir: string;
const running: EmbeddedTemporal[] = [];
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-temporal-'));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
  await rm(dir, { recursive: true, force: true });
});

async function start(binary: string | null = null): Promise<EmbeddedTemporal> {
  const server = await startTemporal({ dir, binary, env: process.env, note: () => undefined });
  running.push(server);
  return server;
}

async function statusOf(address: string, workflowId: string): Promise<string> {
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection });
    return (await client.workflow.getHandle(workflowId).describe()).status.name;
  } finally {
    await connection.close();
  }
}

async function startSomething(address: string, workflowId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await new Client({ connection }).workflow.start('anything', { workflowId, taskQueue: 'nobody' });
  } finally {
    await connection.close();
  }
}

const lockFile = (): string => path.join(dir, 'temporal.lock');

describe('the embedded Temporal server', () => {
  test('holds its workflows in its database, whether it was stopped or killed', async () => {
    const first = await start();
    await startSomething(first.address, 'kept');
    await first.stop();
    const second = await start();
    expect(await statusOf(second.address, 'kept')).toBe('RUNNING');
    await startSomething(second.address, 'kept-too');
    process.kill(second.pid, 'SIGKILL');
    expect(await second.ended).not.toBeNull();
    await second.stop();
    const third = await start();
    expect(await statusOf(third.address, 'kept-too')).toBe('RUNNING');
  });

  test('is one a folder: a second is told the address of the first', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(`join it with --temporal ${first.address}`);
    await first.stop();
    await expect(readFile(lockFile())).rejects.toThrow('ENOENT');
  });

  test('is taken over from an owner that died, whose server is ended first', async () => {
    const orphan = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    const dead = { pid: 2 ** 22 - 1, startTicks: 1 };
    const lock = {
      format: 'passband.temporal-lock',
      version: 1,
      owner: dead,
      server: identityOf(orphan.pid ?? 0),
      address: '127.0.0.1:1',
    };
    await writeFile(lockFile(), JSON.stringify(lock));
    const exited = new Promise((resolve) => orphan.once('exit', (_, signal) => resolve(signal)));
    const server = await start();
    expect(await exited).toBe('SIGTERM');
    expect(await statusOf(server.address, 'nothing').catch((error: unknown) => String(error))).toContain(
      'NotFound',
    );
  });

  test('says in one line what a program that does not start has said', async () => {
    const broken = path.join(dir, 'broken');
    await writeFile(broken, '#!/bin/sh\necho "no such flag: start-dev" >&2\nexit 3\n', { mode: 0o755 });
    const error: unknown = await start(broken).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InputError);
    expect(String(error)).toContain('no such flag: start-dev');
    expect(String(error).split('\n')).toHaveLength(1);
    await expect(start(path.join(dir, 'missing'))).rejects.toThrow('is no executable file');
  });
});
