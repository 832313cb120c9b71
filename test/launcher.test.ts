import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { launcher, runSubstrat, startDaemonProcess } from './helpers/substrat.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  version: string;
};
let directory: string;
let home: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'substrat-'));
  home = join(directory, 'home');
});

afterEach(() => rmSync(directory, { recursive: true }));

/** Expects a failure with exactly one sentence that says why. */
async function fails(args: readonly string[], where: { home?: string; cwd?: string } = {}): Promise<string> {
  const { code, stdout, stderr } = await runSubstrat(args, { home, ...where });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^substrat: [^\n]+\n$/);
  return stderr;
}

describe('bin/substrat', () => {
  test('runs from another directory, and through symlinks to it', async () => {
    symlinkSync(launcher, join(directory, 'first'));
    symlinkSync('first', join(directory, 'second'));
    mkdirSync(join(directory, 'with space'));
    symlinkSync('../second', join(directory, 'with space/third'));
    for (const program of [launcher, join(directory, 'first'), join(directory, 'with space/third')]) {
      const { code, stdout } = await runSubstrat(['--version'], { home, cwd: directory, program });
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
    }
    expect(existsSync(home)).toBe(false);
  });

  test('shows help on every level', async () => {
    for (const args of [['--help'], ['agent', '--help'], ['agent', 'send', '--help'], ['daemon', '--help']]) {
      const { code, stdout, stderr } = await runSubstrat(args, { home });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Usage: substrat/);
    }
  });

  test.each([
    ['an unknown command', ['fly'], /Unknown command 'fly'/],
    ['an unknown command of a command', ['agent', 'fly'], /Unknown command 'fly'/],
    ['an unknown option', ['agent', 'list', '--fast'], /Unknown option '--fast'/],
    ['a missing argument', ['agent', 'create'], /Missing required argument 'name'/],
    ['one argument too few', ['agent', 'send', 'lead'], /Missing required argument 'text'/],
    ['one argument too many', ['agent', 'list', 'lead'], /Too many arguments/],
    ['an option without its value', ['up', '--config'], /argument missing/],
    ['a value that is not a number', ['agent', 'send', 'lead', 'x', '--timeout', 'soon'], /--timeout takes a number/],
    ['a number of lines that is none', ['daemon', 'logs', '--lines', '0'], /--lines takes a number/],
    [
      'two that exclude each other',
      ['agent', 'create', 'x', '--instructions', 'a', '--instructions-file', 'b'],
      /not both/,
    ],
  ])('responds to %s with code 2 and the usage', async (_, args, message) => {
    const { code, stdout, stderr } = await runSubstrat(args, { home });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ {4}at /);
  });

  test('reports in one sentence that no daemon runs', async () => {
    for (const args of [
      ['agent', 'list'],
      ['agent', 'send', 'a', 'b'],
      ['daemon', 'status'],
      ['daemon', 'stop'],
    ]) {
      expect(await fails(args)).toMatch(/No daemon is running on /);
    }
    expect(await fails(['daemon', 'logs'])).toMatch(/There is no log/);
    expect(existsSync(home)).toBe(false);
  });

  test('reports in one sentence what an older Node lacks', async () => {
    const preload = join(launcher, '../preload.cjs');
    const old = `Object.defineProperty(process, 'version', { value: 'v22.17.1' }); require(${JSON.stringify(preload)})`;
    const { code, stderr } = await runSubstrat(['-e', old], { home, program: process.execPath });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^substrat needs Node 22\.18 or newer; this is v22\.17\.1 [^\n]*\n$/);
  });
});

describe('a home that cannot be used', () => {
  const reasons: readonly (readonly [string, () => string | undefined, RegExp])[] = [
    ['its path is too long', () => join(home, 'x'.repeat(60)), /is too long: .* Set SUBSTRAT_HOME to a shorter path\./],
    ['it cannot be made', () => '/proc/substrat', /The home \/proc\/substrat cannot be used: ENOENT/],
    [
      'it cannot be written',
      () => '/sys/kernel',
      /cannot be (used|written): (EROFS|EACCES|EPERM).*( Make it writable for you, or set SUBSTRAT_HOME|$)/,
    ],
    ['it is a file', () => void writeFileSync(home, ''), /cannot be used: EEXIST/],
    ['its log is a directory', () => makeDirectory('daemon.log'), /The log cannot be written: EISDIR/],
    [
      'its store is not a database',
      () => write('substrat.db', 'x'.repeat(10_000)),
      /substrat\.db cannot be opened: file is not/,
    ],
    [
      'its store is broken',
      () => write('substrat.db', `SQLite format 3\0${'x'.repeat(9_000)}`),
      /db cannot be opened: /,
    ],
    [
      'its store is a directory',
      () => makeDirectory('substrat.db'),
      /cannot be opened: unable to open database file\./,
    ],
    [
      'its store is of a newer Substrat',
      newerStore,
      /schema version 999; Substrat \S+ supports up to \d+\. Update Substrat/,
    ],
    ['its lock is broken', () => write('daemon.lock', 'x'.repeat(10_000)), /cannot be used: file is not a database\./],
    ['its configuration is not TOML', () => write('config.toml', '[daemon\nslots = 1\n'), /config\.toml:1: /],
  ];

  test.each(reasons)('because %s fails the daemon with one sentence', async (_, arrange, message) => {
    const path = arrange() ?? home;
    expect(await fails(['up'], { home: path, cwd: directory })).toMatch(message);
    expect(existsSync(join(path, 'daemon.pid'))).toBe(false);
  });

  test.each([0, 2, 8, 10].map((i) => reasons[i] as (typeof reasons)[number]))(
    'because %s fails the daemon in the background with the same sentence',
    async (_, arrange, message) => {
      expect(await fails(['daemon', 'start'], { home: arrange() ?? home, cwd: directory })).toMatch(message);
    },
  );

  test('is used again once the problem is fixed', async () => {
    newerStore();
    await fails(['up']);
    rmSync(join(home, 'substrat.db'));
    const daemon = await startDaemonProcess({ home });
    expect(await daemon.stop()).toBe(0);
  });

  test('fails with the file, the line and the nearest key of a configuration', async () => {
    writeFileSync(join(directory, 'substrat.toml'), '[daemon]\nslotz = 1\n');
    const { code, stdout, stderr } = await runSubstrat(['up', '--config', 'substrat.toml'], { home, cwd: directory });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^substrat: substrat\.toml:2: .*slotz.*slots/);
    expect(stderr).not.toMatch(/ {4}at /);
    expect(await fails(['up', '--config', 'nothing.toml'], { cwd: directory })).toMatch(
      /configuration file does not exist/,
    );
  });

  function write(name: string, content: string): undefined {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, name), content);
  }

  function makeDirectory(name: string): undefined {
    mkdirSync(join(home, name), { recursive: true });
  }

  function newerStore(): undefined {
    mkdirSync(home, { recursive: true });
    const database = new Database(join(home, 'substrat.db'));
    database.exec('create table schema_version (version integer not null); insert into schema_version values (999)');
    database.close();
  }
});

describe('up', () => {
  test('exits with 0 however often Ctrl-C is pressed', async () => {
    const daemon = await startDaemonProcess({ home });
    const presses = setInterval(() => process.kill(daemon.pid, 'SIGINT'), 1);
    try {
      expect(await daemon.ended).toBe(0);
    } finally {
      clearInterval(presses);
    }
  });
});

describe('one home', () => {
  test('has one daemon: a second one is refused and has no effect', async () => {
    const daemon = await startDaemonProcess({ home });
    try {
      const problem = new RegExp(`A daemon is already running on ${home} \\(pid ${daemon.pid}\\)\\.`);
      expect(await fails(['up'])).toMatch(problem);
      expect(await fails(['daemon', 'start'])).toMatch(problem);
      expect(await daemon.client.getStatus()).toMatchObject({ pid: daemon.pid, home });
      expect(readFileSync(join(home, 'daemon.pid'), 'utf8')).toBe(`${daemon.pid}\n`);
    } finally {
      expect(await daemon.stop()).toBe(0);
    }
    expect(existsSync(join(home, 'daemon.sock'))).toBe(false);
    expect(existsSync(join(home, 'daemon.pid'))).toBe(false);
  });

  test('is taken over from a daemon that was killed', async () => {
    const first = await startDaemonProcess({ home });
    const { id } = await first.client.createAgent({ name: 'lead', provider: 'external' });
    const agentSocket = join(home, 'agents', id, 'agent.sock');
    await first.kill();
    for (const left of ['daemon.sock', 'daemon.pid', agentSocket])
      expect(existsSync(join(left.startsWith('/') ? '' : home, left))).toBe(true);
    expect(await fails(['daemon', 'status'])).toMatch(/No daemon is running on /);

    const second = await startDaemonProcess({ home });
    expect(readFileSync(join(home, 'daemon.pid'), 'utf8')).toBe(`${second.pid}\n`);
    expect((await second.client.listAgents()).items).toMatchObject([{ name: 'lead', state: 'idle' }]);
    expect(await second.stop()).toBe(0);
    for (const path of [join(home, 'daemon.sock'), join(home, 'daemon.pid'), agentSocket])
      expect(existsSync(path)).toBe(false);
  });

  test('runs a daemon in the background from start to stop', async () => {
    const run = (...args: string[]) => runSubstrat(args, { home });
    const started = await run('daemon', 'start', '--json');
    const { pid } = JSON.parse(started.stdout);
    expect(started).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse((await run('daemon', 'status', '--json')).stdout)).toMatchObject({ pid, home, version });
    expect((await run('daemon', 'logs')).stdout).toMatch(/the daemon is running/);
    expect(await run('daemon', 'stop')).toEqual({ code: 0, stdout: 'Stopped the daemon.\n', stderr: '' });
    expect(() => process.kill(pid, 0)).toThrow();
  });
});
