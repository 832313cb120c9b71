import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noBwrap, noLimits } from '../../test/helpers/bwrap.ts';
import { until } from '../../test/helpers/until.ts';
import type { MachineLimits } from '../core/machine-limits.ts';
import { createBwrap } from './bwrap.ts';
import { isAlive } from './namespace.ts';
import type { Enclosure } from './sandbox.ts';
import { createWatch, type TurnWatch } from './watch.ts';

const MB = 1024 * 1024;
let root: string;
let enclosure: Enclosure;
const ends: (() => Promise<void>)[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'watch-')));
  const directory = join(root, 'substrat/agents/1');
  const home = join(directory, 'home');
  const workspace = join(root, 'work');
  for (const path of [home, workspace]) mkdirSync(path, { recursive: true });
  enclosure = { workspace, home, directory, binds: [], hosts: [] };
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  rmSync(root, { recursive: true });
});

test('a look that fails does not end the looks', async () => {
  const limits = { processes: 1, memoryBytes: MB, cpus: 1, diskBytes: MB, openFiles: 10 };
  let looks = 0;
  const watch = createWatch({ limits, everyMs: 1 }).open([]);
  watch.add({
    inside: () => {
      looks += 1;
      throw new Error('too many open files');
    },
  });
  await until('it looks again', () => looks > 2);
  watch.close();
});

describe.skipIf(noBwrap !== null)('a turn', () => {
  test('that starts 500 processes is ended with all of them', async () => {
    const { watch, inside } = await begin('for (1..500) { fork or last } sleep 600', { processes: 400 });
    expect(await whyEnded(watch)).toMatch(
      /^The turn was ended because it exceeded .*: it had \d+ processes; the limit is 400 \(`\[sandbox\] max_processes`\)\.$/,
    );
    await until('all are dead', () => !isAlive(inside));
  });

  test('that allocates too much memory is ended, whether it is private, shared or in /tmp', async () => {
    const most = { memoryBytes: 150 * MB };
    const own = await begin('my $x = "x" x (100 * 1048576); sleep 600', most);
    expect(await whyEnded(own.watch)).toMatch(/it used \d+ MiB of memory; the limit is 150 MiB .*max_memory_mb/);
    // Two copies of 40 MiB each, the rest in /tmp.
    const mixed = await begin('$x = "x" x 41943040; system "head -c 120M /dev/zero > /tmp/x"; sleep 600', most);
    expect(await whyEnded(mixed.watch)).toContain('of memory');
  });

  test('may share memory between its processes: a page counts once', async () => {
    // 12 processes share 30 MiB, which is in them 12 times.
    const { watch } = await begin('$x = "x" x (15 * 1048576); for (1..11) { fork or last } sleep 600', {
      memoryBytes: 150 * MB,
    });
    await until('it has been counted', () => watch.usage().memoryBytes > 200 * MB);
    // The next look begins after the exact one.
    await looks(watch, 2);
    expect(watch.exceeded.aborted).toBe(false);
  });

  test.each([
    ['writes', 'system "head -c 60M /dev/zero > big"; sleep 600'],
    ['takes space without writing', 'for (1..400) { system "fallocate -l 2M ~/f$_; sleep 0.02" } sleep 600'],
    ['writes small files', 'for (1..60) { system "head -c 1M /dev/zero > f$_" } sleep 600'],
  ])('that fills the disk is ended: it %s', async (_, script) => {
    const { watch } = await begin(script, { diskBytes: 30 * MB });
    expect(await whyEnded(watch)).toMatch(/it wrote \d+ MiB to the disk; the limit is 30 MiB .*max_disk_mb/);
  });

  test('may write the same file again and again', async () => {
    const script = 'for (1..20) { system "head -c 10M /dev/zero > f; sync f" } system "touch done"; sleep 600';
    const { watch } = await begin(script, { diskBytes: 100 * MB });
    await until('it has written', () => existsSync(join(enclosure.workspace, 'done')));
    await looks(watch, 10);
    expect(watch.exceeded.aborted).toBe(false);
  });

  test('that uses more processors goes on with the lowest priority', async () => {
    const { watch, inside } = await begin('fork; 1 while 1', { cpus: 0.2 });
    await until('it is lowered', () => getPriority(inside.pid) === 19);
    expect(watch.exceeded.aborted).toBe(false);
  });

  test('has a limit of open files, and leaves no core dumps', async () => {
    const { watch } = await begin('exec "ulimit -n > limit; ulimit -c >> limit; sleep 600"', { openFiles: 300 });
    const file = join(enclosure.workspace, 'limit');
    await until('it wrote', () => existsSync(file) && readFileSync(file, 'utf8') === '300\n0\n');
    expect(watch.exceeded.aborted).toBe(false);
  });
});

describe.skipIf(noBwrap !== null)('the watch', () => {
  test('ends only the turn that exceeds', async () => {
    const calm = await begin('sleep 600', { processes: 50 });
    const wild = await begin('for (1..60) { fork or last } sleep 600', { processes: 50 });
    await whyEnded(wild.watch);
    expect(isAlive(calm.inside)).toBe(true);
    expect(calm.watch.exceeded.aborted).toBe(false);
  });
});

/** Starts a Perl script in a sandbox and watches it. */
async function begin(script: string, most: Partial<MachineLimits>) {
  const limits = { ...noLimits, ...most };
  const sandbox = createBwrap({ home: join(root, 'substrat'), path: process.env.PATH ?? '', limits });
  const command = { file: 'perl', args: ['-e', script], cwd: enclosure.workspace, env: { PATH: '/usr/bin:/bin' } };
  const confined = await sandbox.confine(command, {}, enclosure);
  const { file, args, env, files = [] } = confined.command;
  const given = files.map((one) => (typeof one === 'string' ? openSync(one, 'r') : one)) as number[];
  const watch = createWatch({ limits, everyMs: 20 }).open([enclosure.workspace, enclosure.home]);
  watch.add(confined);
  const child = spawn(file, args, { cwd: '/', env, stdio: ['ignore', 'ignore', 'inherit', ...given] });
  closeSync(given[0] as number);
  const exited = once(child, 'exit');
  ends.push(async () => {
    watch.close();
    await confined.release();
    await exited;
  });
  const inside = await until('it runs', () => confined.inside());
  return { watch, inside };
}

async function whyEnded({ exceeded }: TurnWatch): Promise<string> {
  await until('it is ended', () => exceeded.aborted);
  return (exceeded.reason as Error).message;
}

/** Waits for so many further looks. */
async function looks(watch: TurnWatch, count: number): Promise<void> {
  for (let look = 0; look < count; look += 1) {
    const last = watch.usage();
    await until('another look', () => watch.usage() !== last);
  }
}
