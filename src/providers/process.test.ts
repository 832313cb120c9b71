import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { processesOf } from '../../test/helpers/run-processes.ts';
import { until } from '../../test/helpers/until.ts';
import { endProcessGroup, type ProcessEnd, type ProcessOptions, type ProcessOutput, runProcess } from './process.ts';
import { processStartTime } from './process-group.ts';
import { readySpawner } from './spawner.testkit.ts';
import type { Spawner } from './spawner.ts';

let runId: string;
/** Null: this process starts the programs. */
let spawner: Spawner | null = null;

beforeEach(() => {
  runId = crypto.randomUUID();
});

afterEach(() => {
  expect(processesOf(runId)).toEqual([]);
});

function options(file: string, args: readonly string[], changes: Partial<ProcessOptions> = {}): ProcessOptions {
  return {
    command: { file, args, cwd: '/', env: { PATH: process.env.PATH ?? '', SUBSTRAT_RUN_ID: runId } },
    input: '',
    timeoutMs: 15_000,
    signal: new AbortController().signal,
    onSpawn: async () => undefined,
    spawner: spawner ?? undefined,
    ...changes,
  };
}

const shell = (script: string, changes?: Partial<ProcessOptions>) => runProcess(options('sh', ['-c', script], changes));

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

async function collect(outputs: AsyncIterable<ProcessOutput>): Promise<{ lines: string[]; end: ProcessEnd }> {
  const lines: string[] = [];
  for await (const output of outputs) {
    if (output.type === 'end') return { lines, end: output };
    lines.push(output.type === 'line' ? output.text : '(oversized)');
  }
  return expect.fail('no end');
}

const starters = process.platform === 'linux' ? ['this process', 'the spawner'] : ['this process'];

describe.each(starters)('runProcess(), started by %s', (starter) => {
  if (starter === 'the spawner') {
    const directory = mkdtempSync(join(tmpdir(), 'process-'));
    beforeAll(async () => {
      spawner = await readySpawner(join(directory, 's.sock'));
    });
    afterAll(() => {
      spawner?.close();
      spawner = null;
      rmSync(directory, { recursive: true });
    });
  }

  test('gives the program its input when it has sent its sockets', async () => {
    const program = `
      const server = require('node:net').createServer().listen(0, '127.0.0.1');
      let sent = false;
      process.stdin.on('data', (text) => process.stdout.write((sent ? 'after: ' : 'before: ') + text));
      process.stdin.on('end', () => process.exit());
      process.on('SIGUSR2', () => {
        sent = true;
        process.send('open', server, {}, () => server.close());
      });
      require('node:fs').writeFileSync(process.argv[1], '');`;
    const started = join(mkdtempSync(join(tmpdir(), 'process-')), 'started');
    onTestFinished(() => rmSync(dirname(started), { recursive: true }));
    const sockets: unknown[] = [];
    const receiver = { count: 1, receive: (listening: Server) => void sockets.push(listening.close()) };
    const { command } = options(process.execPath, ['-e', program, started]);
    const group = Promise.withResolvers<number>();
    const running = collect(
      runProcess({
        ...options('', []),
        command: { ...command, files: [receiver] },
        input: 'the input\n',
        onSpawn: async ({ pid }) => group.resolve(pid),
      }),
    );
    await until('it has started', () => existsSync(started));
    process.kill(await group.promise, 'SIGUSR2');
    expect((await running).lines).toEqual(['after: the input']);
    expect(sockets).toHaveLength(1);
  });

  test('yields lines, then how the program ended', async () => {
    const { lines, end } = await collect(shell('echo one; printf "two\\r\\n\\nthree"; echo oops >&2; exit 3'));
    expect(lines).toEqual(['one', 'two', '', 'three']);
    expect(end).toEqual({
      type: 'end',
      reason: 'exit',
      exitCode: 3,
      signal: null,
      message: 'The program exited with code 3.',
      stderr: 'oops\n',
    });
  });

  test('opens the files that a command names, and keeps none of them open', async () => {
    const ours = () => readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`));
    const { command, ...rest } = options('sh', ['-c', 'cat <&3; cat <&4']);
    const files = ['/etc/hostname', '/etc/passwd'];
    const { lines } = await collect(runProcess({ ...rest, command: { ...command, files } }));
    expect(`${lines.join('\n')}\n`).toBe(files.map((file) => readFileSync(file, 'utf8')).join(''));
    expect(ours().filter((path) => files.includes(path))).toEqual([]);

    const { end } = await collect(runProcess({ ...rest, command: { ...command, files: ['/etc/passwd', '/missing'] } }));
    expect(end).toMatchObject({ reason: 'spawn_failed', message: expect.stringContaining('/missing') });
    expect(ours().filter((path) => files.includes(path))).toEqual([]);
  });

  test('reports the signal that ended the program', async () => {
    const { end } = await collect(shell('kill -SEGV $$'));
    expect(end).toMatchObject({ reason: 'exit', exitCode: null, signal: 'SIGSEGV' });
  });

  test('writes the input after onSpawn has resolved, and closes stdin', async () => {
    const order: string[] = [];
    const onSpawn = async () => {
      await nextTurn();
      order.push('stored');
    };
    const { lines } = await collect(shell('cat', { input: 'hello\n', onSpawn }));
    expect([...order, ...lines]).toEqual(['stored', 'hello']);
  });

  test('streams input, even to a program that exits before reading all of it', async () => {
    async function* input() {
      for (let i = 1; i <= 3; i++) yield `line ${i}\n`;
    }
    expect((await collect(shell('cat', { input: input() }))).lines).toEqual(['line 1', 'line 2', 'line 3']);
    expect((await collect(shell('head -n 1', { input: input() }))).lines).toEqual(['line 1']);
  });

  test('loses no output of a program that exits during onSpawn', async () => {
    const onSpawn = async ({ pid }: { pid: number }) => {
      while (processStartTime(pid) !== null) await nextTurn();
      for (let i = 0; i < 5; i++) await nextTurn();
    };
    const { lines, end } = await collect(shell('echo early; echo err >&2', { onSpawn }));
    expect(lines).toEqual(['early']);
    expect(end).toMatchObject({ reason: 'exit', exitCode: 0, stderr: 'err\n' });
  });

  test('accepts a program that reads no input', async () => {
    const { end } = await collect(shell('exec 0<&-; echo closed', { input: 'x'.repeat(1_000_000) }));
    expect(end).toMatchObject({ reason: 'exit', exitCode: 0 });
  });

  test('drops a line over the limit and continues', async () => {
    const script = 'echo short; head -c 200000 /dev/zero; echo; echo after; head -c 200000 /dev/zero';
    const { lines } = await collect(shell(script, { maxLineBytes: 100 }));
    expect(lines).toEqual(['short', '(oversized)', 'after', '(oversized)']);
  });

  test('kills a program that prints too much', async () => {
    const { end } = await collect(shell('yes', { maxOutputBytes: 1_000_000 }));
    expect(end).toMatchObject({ reason: 'output_limit', signal: 'SIGTERM' });
  });

  test('keeps the last 8 KiB of stderr, cut at a character', async () => {
    const script = 'i=0; while [ $i -lt 3000 ]; do printf "€€" >&2; i=$((i+1)); done; printf "the end" >&2';
    const { end } = await collect(shell(script));
    expect(end.stderr).toMatch(/^€+the end$/);
    expect(Buffer.byteLength(end.stderr)).toBeGreaterThan(8_180);
    expect(Buffer.byteLength(end.stderr)).toBeLessThanOrEqual(8_192);
  });

  test('applies backpressure', async () => {
    let pid = 0;
    const outputs = shell('exec yes', {
      onSpawn: async (group) => {
        pid = group.pid;
      },
    });
    await outputs.next();
    const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
    let last = written();
    for (let blocked = 0; blocked < 200 && last < 50_000_000; last = written()) {
      await nextTurn();
      blocked = written() === last ? blocked + 1 : 0;
    }
    expect(last).toBeLessThan(2_000_000);
    await outputs.return();
  });

  test('kills a program that ignores SIGTERM after the grace period, with all its children', async () => {
    const script = 'trap "" TERM; sleep 1000 & echo ready; while :; do wait; done';
    const controller = new AbortController();
    const outputs = shell(script, { signal: controller.signal, graceMs: 50 });
    await outputs.next();
    controller.abort();
    expect((await collect(outputs)).end).toMatchObject({ reason: 'cancelled', signal: 'SIGKILL' });
  });

  test('lets a program exit within the grace period', async () => {
    const controller = new AbortController();
    const outputs = shell('trap "echo bye; exit 5" TERM; echo ready; sleep 1000 & wait', { signal: controller.signal });
    await outputs.next();
    controller.abort();
    expect(await collect(outputs)).toMatchObject({ lines: ['bye'], end: { reason: 'cancelled', exitCode: 5 } });
  });

  test('ends at the timeout even if stdout is closed', async () => {
    const { end } = await collect(shell('exec 1>&- 2>&-; sleep 1000', { timeoutMs: 100 }));
    expect(end).toMatchObject({ reason: 'timeout', message: 'The program was killed at its time limit of 0.1 s.' });
  });

  test('kills the rest of the group when the leader has exited', async () => {
    const { lines, end } = await collect(shell('sleep 1000 & echo done'));
    expect(lines).toEqual(['done']);
    expect(end).toMatchObject({ reason: 'exit', exitCode: 0 });
  });

  test.each([
    ['in silence', 'sleep 1000'],
    ['without end', 'yes'],
  ])('ends although a process outside the group holds the pipes, %s', async (_, command) => {
    const { lines, end } = await collect(shell(`setsid ${command} & echo done`));
    expect(lines).toContain('done');
    expect(end).toMatchObject({ reason: 'exit', exitCode: 0 });
    // Killing processes outside the group is up to the sandbox.
    for (const pid of processesOf(runId)) process.kill(pid, 'SIGKILL');
    while (processesOf(runId).length > 0) await nextTurn();
  });

  test.each([
    ['/nowhere/program', '/', 'there is no such file'],
    ['no-such-program', '/', 'there is no such file'],
    ['/etc/passwd', '/', 'it is not executable'],
    ['/', '/', 'it is not executable'],
    ['sh', '/nowhere', 'its directory /nowhere does not exist'],
    ['sh\0', '/', 'null bytes'],
  ])('reports why %j in %s cannot be started', async (file, cwd, why) => {
    const { command, ...rest } = options(file, []);
    const { lines, end } = await collect(runProcess({ ...rest, command: { ...command, cwd } }));
    expect(lines).toEqual([]);
    expect(end).toMatchObject({ reason: 'spawn_failed', exitCode: null, message: expect.stringContaining(why) });
  });

  test('reports that this process has run out of descriptors, which is not the program’s failure', async () => {
    const module = join(import.meta.dirname, 'process.ts');
    const source = `import { openSync } from 'node:fs';
import { processFailure, runProcess } from '${module}';
const command = { file: 'sh', args: ['-c', 'true'], cwd: '/', env: {} };
const turn = { command, input: '', timeoutMs: 5000, signal: new AbortController().signal, onSpawn: async () => {} };
try { for (;;) openSync('/dev/null', 'r'); } catch {}
for await (const end of runProcess(turn)) process.exit(processFailure(end).kind === 'resources' ? 7 : 1);`;
    const script = 'ulimit -n 64 && exec "$0" --input-type=module-typescript -e "$1"';
    const child = spawn('sh', ['-c', script, process.execPath, source], { stdio: 'ignore' });
    expect((await once(child, 'exit'))[0]).toBe(7);
  });
});

describe('endProcessGroup()', () => {
  /** Starts a group like a daemon that then dies. */
  async function leave(script: string, env: Record<string, string> = { SUBSTRAT_RUN_ID: runId }) {
    const child = spawn('sh', ['-c', script], { detached: true, env, stdio: ['ignore', 'pipe', 'ignore'] });
    const group = { pid: child.pid as number, startedAt: processStartTime(child.pid as number) as string };
    const [printed] = await once(child.stdout, 'data');
    child.stdout.destroy();
    return { child, group, printed: Number(printed) };
  }

  const alive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  test('kills the leader and its group', async () => {
    const { group } = await leave('trap "" TERM; sleep 1000 & echo $!; wait');
    expect(await endProcessGroup({ ...group, runId })).toBe(true);
    expect(processesOf(runId)).toEqual([]);
  });

  test('kills a group whose leader has exited', async () => {
    const { child, group } = await leave('sleep 1000 & echo $!');
    if (child.exitCode === null) await once(child, 'exit');
    expect(await endProcessGroup({ ...group, runId })).toBe(true);
    expect(processesOf(runId)).toEqual([]);
  });

  test("kills processes with the run's id if the group was not stored", async () => {
    await leave('sleep 1000 & echo $!; wait');
    expect(await endProcessGroup({ pid: null, startedAt: null, runId })).toBe(true);
    expect(processesOf(runId)).toEqual([]);
    expect(await endProcessGroup({ pid: null, startedAt: null, runId })).toBe(false);
  });

  test('kills processes that left the group, and what they start meanwhile', async () => {
    const { child, group } = await leave(
      '(setsid sh -c "while :; do sleep 1000 & sleep 0.01; done") & sleep 0.1; echo 1',
    );
    if (child.exitCode === null) await once(child, 'exit');
    expect(processesOf(runId).length).toBeGreaterThan(0);
    expect(await endProcessGroup({ ...group, runId })).toBe(true);
    expect(processesOf(runId)).toEqual([]);
  });

  test('does not kill another process with the same pid', async () => {
    const { group } = await leave('sleep 1000 & echo $!; wait', {});
    expect(await endProcessGroup({ ...group, startedAt: `${group.startedAt}0`, runId })).toBe(false);
    expect(alive(group.pid)).toBe(true);
    await endProcessGroup({ ...group, runId });
  });

  test('does not kill a group with that id that does not belong to the run', async () => {
    const { child, group, printed } = await leave('sleep 1000 & echo $!', { SUBSTRAT_RUN_ID: `${runId}0` });
    if (child.exitCode === null) await once(child, 'exit');
    expect(await endProcessGroup({ ...group, runId })).toBe(false);
    expect(alive(printed)).toBe(true);
    process.kill(printed, 'SIGKILL');
  });

  test('returns false if nothing is left', async () => {
    const { child, group } = await leave('echo 1');
    if (child.exitCode === null) await once(child, 'exit');
    expect(await endProcessGroup({ ...group, runId })).toBe(false);
  });
});
