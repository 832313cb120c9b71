import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../test/helpers/until.ts';
import { processFailure, runProcess } from './process.ts';
import type { Program } from './program.ts';
import { readySpawner, untilReady } from './spawner.testkit.ts';
import { Spawner } from './spawner.ts';

const env = { PATH: process.env.PATH ?? '' };
const shell = (script: string) => ({ file: 'sh', args: ['-c', script], cwd: '/', env });

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');

describe.runIf(process.platform === 'linux')('Spawner', () => {
  let directory: string;
  let spawner: Spawner;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'spawner-'));
    spawner = await readySpawner(join(directory, 's.sock'));
  });

  afterEach(() => {
    spawner.close();
    rmSync(directory, { recursive: true });
  });

  async function start(script: string): Promise<Program & { helper: number }> {
    const program = (await spawner.start(shell(script))) as Program;
    return { ...program, helper: parentOf(program.group.pid) };
  }

  test('starts programs as children of its helper, with the three pipes apart', async () => {
    const program = await start('read line; echo "$line"; echo err >&2; echo $PPID');
    expect(program.helper).not.toBe(process.pid);
    program.stdin.end('hello\n');
    const [out, err, exit] = await Promise.all([text(program.stdout), text(program.stderr), program.exited]);
    expect(out).toBe(`hello\n${program.helper}\n`);
    expect(err).toBe('err\n');
    expect(exit).toEqual({ exitCode: 0, signal: null, isLeft: false });
  });

  test('gives programs the environment that they are given, and no descriptor of the helper', async () => {
    const program = await start('cat; env -u PATH -u PWD -u SHLVL -u _ env; ls -l /proc/self/fd');
    program.stdin.end();
    const out = await text(program.stdout);
    expect(out.split('\n').filter((line) => line.includes('='))).toEqual([]);
    expect(out.match(/socket:/g)).toHaveLength(3);
  });

  test('serves many programs at once', async () => {
    const programs = await Promise.all(Array.from({ length: 20 }, (_, n) => start(`cat; echo ${n}; exit ${n}`)));
    for (const [n, program] of programs.entries()) {
      program.stdin.end(`for ${n}\n`);
      expect(await text(program.stdout)).toBe(`for ${n}\n${n}\n`);
      expect(await program.exited).toMatchObject({ exitCode: n });
    }
  });

  test('refuses a connection without the name of a program that is being started', async () => {
    for (const name of ['x'.repeat(33), `${'0'.repeat(32)}1`]) {
      const stranger = connect(join(directory, 's.sock'));
      stranger.write(name);
      expect(await text(stranger)).toBe('');
    }
    const { exited, stdin } = await start('cat');
    stdin.end();
    expect(await exited).toMatchObject({ exitCode: 0 });
  });

  test('kills its programs if its helper dies, which is not their failure, and starts the next ones', async () => {
    const turn = { input: '', timeoutMs: 20_000, signal: new AbortController().signal, spawner };
    let pid = 0;
    const onSpawn = async (group: { pid: number }) => {
      pid = group.pid;
      process.kill(parentOf(pid), 'SIGKILL');
    };
    const outputs = [];
    for await (const output of runProcess({ ...turn, command: shell('sleep 1000'), onSpawn })) outputs.push(output);
    expect(outputs).toMatchObject([{ type: 'end', reason: 'lost' }]);
    const [end] = outputs;
    expect(end?.type === 'end' && processFailure(end).kind).toBe('resources');
    expect(isAlive(pid)).toBe(false);
    await untilReady(spawner);
    const { exited, stdin } = await start('cat');
    stdin.end();
    expect(await exited).toMatchObject({ exitCode: 0 });
  });

  test('has a helper that ends with the daemon, however that ends', async () => {
    const source = `
      import { readySpawner } from '${join(import.meta.dirname, 'spawner.testkit.ts')}';
      const spawner = await readySpawner('${join(directory, 'other.sock')}');
      const program = await spawner.start(${JSON.stringify(shell('echo $PPID $$; exec sleep 1000'))});
      program.stdout.pipe(process.stdout);`;
    const daemon = spawn(process.execPath, ['--input-type=module-typescript', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed] = await once(daemon.stdout, 'data');
    const [helper = 0, program = 0] = String(printed).split(' ').map(Number);
    expect(isAlive(helper)).toBe(true);
    daemon.kill('SIGKILL');
    await until('the helper has ended', () => !isAlive(helper));
    // As after the death of a daemon that starts its programs itself, recovery ends what is left.
    process.kill(program, 'SIGKILL');
  });

  test('removes the socket of a daemon that was killed, also if it starts nothing', () => {
    const path = join(directory, 'left.sock');
    writeFileSync(path, '');
    new Spawner({ path }).close();
    expect(existsSync(path)).toBe(false);
  });

  test('ends its helper when it is closed', async () => {
    const { helper, stdin, exited } = await start('cat');
    stdin.end();
    await exited;
    spawner.close();
    await until('the helper has ended', () => !isAlive(helper));
    expect(spawner.start(shell('true'))).toBe(null);
  });
});
