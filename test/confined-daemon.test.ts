import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Client } from '../src/client/client.ts';
import { noBwrap } from './helpers/bwrap.ts';
import { startDaemon } from './helpers/daemon.ts';
import { hostile, startHostile } from './helpers/hostile.ts';
import { runSubstrat, startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

let directory: string;
let home: string;
let config: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'confined-'));
  home = join(directory, 'home');
  config = join(directory, 'substrat.toml');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(config, '[server]\nbind = "127.0.0.1:0"\n[daemon]\nmax_attempts = 1\n');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Ignores all signals it can, in its own session, with an empty environment. */
const stubborn = (mark: string) => `
  const perl = "use POSIX; POSIX::setsid(); %ENV = (); $SIG{$_} = 'IGNORE' for qw(TERM INT HUP); fork; fork; fork; sleep 600";
  children.spawn('perl', ['-e', perl, '${mark}'], { detached: true, stdio: 'ignore' }).unref();
  fs.writeFileSync('started', '');
  await new Promise(() => setInterval(() => {}, 1000));`;

describe.skipIf(noBwrap !== null)('a daemon', () => {
  test('passes none of its inherited descriptors to its programs', async () => {
    const left = openSync(config, 'r');
    const daemon = await startDaemonProcess({ home, config, inherit: [left] });
    const answer = await ask(daemon.client, `return children.execSync('ls -l /proc/self/fd').toString()`);
    await daemon.stop();
    const open = answer.split('\n').filter((line) => line.includes(' -> '));
    expect(open.map((line) => line.replace(/.* (\d+) -> .*/, '$1')).toSorted()).toEqual(['0', '1', '2', '3']);
    expect(open.find((line) => line.includes(' 3 -> '))).toMatch(/\/proc\/\d+\/fd/);
  });

  test('that is killed takes every process of its turns with it, and the next one resumes', async () => {
    const mark = `stubborn-${process.pid}-killed`;
    const first = await startDaemonProcess({ home, config });
    const { workspace } = await first.client.createAgent({ name: 'hostile', program: hostile });
    const once = `if (fs.existsSync('started')) return 'again'; ${stubborn(mark)}`;
    const { messageId } = await first.client.sendMessage('hostile', { text: once });
    await until('it runs', () => existsSync(join(workspace, 'started')) && processesWith(mark).length === 8);
    await first.kill();
    const second = await startDaemonProcess({ home, config });
    const reply = await second.client.awaitReply(messageId, 15);
    expect(processesWith(mark)).toEqual([]);
    await second.stop();
    expect(reply).toMatchObject({ kind: 'reply', text: '"again"' });
  });

  test('kills everything inside when a run is cancelled, before the agent’s next turn', async () => {
    await using daemon = await startHostile();
    const { client } = daemon.running;
    const mark = `stubborn-${process.pid}-cancelled`;
    const { messageId } = await client.sendMessage('hostile', { text: stubborn(mark) });
    await until('it runs', () => existsSync(join(daemon.workspace, 'started')) && processesWith(mark).length === 8);
    const [run] = (await client.listRuns({ agent: 'hostile' })).items;
    await client.cancelRun(run?.id ?? '');
    expect(await client.awaitReply(messageId, 5)).toMatchObject({ kind: 'error' });
    expect(await daemon.attempt('return 1')).toBe(1);
    expect(processesWith(mark)).toEqual([]);
  });

  test('runs its demo in the sandbox', async () => {
    await using daemon = await startDaemon({ sandbox: 'bwrap' });
    const program = join(import.meta.dirname, '../src/demo/team.ts');
    await daemon.client.createAgent({ name: 'demo-lead', program });
    const { messageId } = await daemon.client.sendMessage('demo-lead', { text: 'What is this machine?' });
    const reply = await daemon.client.awaitReply(messageId, 20);
    expect(reply).toMatchObject({
      kind: 'reply',
      text: expect.stringMatching(/hardware: .*; load: |load: .*; hardware: /),
    });
    expect(await daemon.client.getStatus()).toMatchObject({ sandbox: 'bwrap', sandboxProblem: null });
  });
});

describe('without bwrap', () => {
  test('no agent starts, and every status output says what to install', async () => {
    const daemon = await startDaemonProcess({ home, config, env: { PATH: without('bwrap') } });
    try {
      const status = await daemon.client.getStatus();
      expect(status).toMatchObject({
        sandbox: 'bwrap',
        sandboxProblem: expect.stringContaining('apt install bubblewrap'),
      });
      const created = await runSubstrat(['agent', 'create', 'hostile', '--program', hostile], { home });
      expect(created).toMatchObject({ code: 0, stderr: expect.stringContaining('apt install bubblewrap') });
      const { workspace } = await daemon.client.getAgent('hostile');
      const { messageId } = await daemon.client.sendMessage('hostile', { text: `fs.writeFileSync('ran', '')` });
      const reply = await daemon.client.awaitReply(messageId, 15);
      expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining('apt install bubblewrap') });
      expect(existsSync(join(workspace, 'ran'))).toBe(false);
      const said = await runSubstrat(['daemon', 'status'], { home });
      expect(said.stdout).toContain('apt install bubblewrap');
    } finally {
      await daemon.stop();
    }
  });

  test('the same applies to a bwrap that the kernel refuses', async () => {
    const bin = join(directory, 'bin');
    mkdirSync(bin);
    const refusal = 'bwrap: setting up uid map: Permission denied';
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\necho '${refusal}' >&2\nexit 1\n`, { mode: 0o755 });
    const daemon = await startDaemonProcess({ home, config, env: { PATH: `${bin}:${process.env.PATH}` } });
    const answer = await ask(daemon.client, 'return 1');
    await daemon.stop();
    expect(answer).toMatch(/setting up uid map: Permission denied.*unprivileged_userns_clone=1.*apparmor/s);
  });
});

async function ask(client: Client, text: string): Promise<string> {
  await client.createAgent({ name: 'hostile', program: hostile });
  const { messageId } = await client.sendMessage('hostile', { text });
  const reply = await client.awaitReply(messageId, 15);
  return reply?.kind === 'reply' ? JSON.parse(reply.text) : (reply?.text ?? '');
}

/** A PATH with everything except this program. */
function without(program: string): string {
  const bin = join(directory, 'links');
  mkdirSync(bin);
  for (const path of (process.env.PATH ?? '').split(delimiter).filter((one) => existsSync(one))) {
    for (const name of readdirSync(path)) {
      if (name !== program && !existsSync(join(bin, name))) {
        try {
          symlinkSync(join(path, name), join(bin, name));
        } catch {
          // A dangling symlink has this name.
        }
      }
    }
  }
  return bin;
}

function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(mark);
    } catch {
      return false;
    }
  });
}
