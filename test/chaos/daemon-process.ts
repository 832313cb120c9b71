import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/client.ts';
import { EXTERNAL_AGENT } from './companions/external.ts';
import { ROOM, ROOM_MEMBERS } from './companions/rounds.ts';
import { team } from './plan.ts';

const root = join(import.meta.dirname, '../..');
const PATIENCE_MS = 30_000;

export type DaemonProcess = ReturnType<typeof createDaemonProcess>;

/** A real daemon with the team of `plan.ts`, to be killed and restarted. */
export function createDaemonProcess() {
  const directory = makeDirectory();
  const home = join(directory, 'home');
  const client = createClient({ home });
  let child: ChildProcess | null = null;
  let ending = false;
  let failure: string | null = null;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    checkHealth();
    ending = true;
    const gone = once(child as ChildProcess, 'exit');
    child?.kill(signal);
    const [code] = await gone;
    return code;
  }

  /** An unexpected exit is an error, and so is any request after the test. */
  function checkHealth(): void {
    if (failure !== null) throw new Error(failure);
  }

  return {
    directory,
    home,
    client,
    checkHealth,
    start(): void {
      const env = {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        TMPDIR: join(directory, 'tmp'),
        SUBSTRAT_HOME: home,
      };
      const args = ['up', '--quiet', '--config', join(directory, 'substrat.toml')];
      const started = spawn(join(root, 'bin/substrat'), args, {
        cwd: directory,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output = Promise.all([text(started.stdout), text(started.stderr)]);
      ending = false;
      started.once('exit', async (code, signal) => {
        if (!ending) failure = `The daemon has ended by itself (${signal ?? code}).\n${(await output).join('')}`;
      });
      child = started;
    },
    async ready(): Promise<void> {
      for (const giveUp = Date.now() + PATIENCE_MS; ; await sleep(5)) {
        checkHealth();
        if (await client.getStatus().catch(() => null)) return;
        if (Date.now() > giveUp) throw new Error(`The daemon is not up after ${PATIENCE_MS} ms.`);
      }
    },
    async kill(): Promise<void> {
      await end('SIGKILL');
    },
    /** Like Ctrl-C. Returns its exit code. */
    stop: () => end('SIGTERM'),
    /** Called when a test ends; the files of a failed test are kept. */
    async remove({ keep }: { keep: boolean }): Promise<void> {
      ending = true;
      if (child?.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      failure = 'The test is over.';
      if (keep) console.log(`chaos: what is left is in ${directory}`);
      else rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The directory of one test, with its daemon's home. Short, because socket paths are limited. */
function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'chaos-'));
  for (const name of ['home', 'tmp', 'journal', 'crashed', 'documents'])
    mkdirSync(join(directory, name), { mode: 0o700 });
  writeFileSync(join(directory, 'substrat.toml'), configuration(directory));
  return directory;
}

/** Without caps, which are not tested here. */
function configuration(directory: string): string {
  const program = JSON.stringify(join(root, 'test/fixtures/chaos-agent.ts'));
  const members = Object.entries(team).map(
    ([name, parent]) => `[members.${name}]\nprogram = ${program}\n${parent ? `parent = "${parent}"\n` : ''}`,
  );
  return `
[daemon]
max_deaths = 0
default_provider = "scripted"
slots = 4
[server]
bind = "127.0.0.1:0"
[sandbox]
mode = "none"
[limits]
tool_calls_per_minute = 1000000
max_tree_runs = 1000000000
max_children = 1000
[providers.scripted.env]
CHAOS_DIRECTORY = ${JSON.stringify(directory)}
${members.join('')}
${ROOM_MEMBERS.map((name) => `[members.${name}]\nprogram = ${program}\n`).join('')}
[members.${EXTERNAL_AGENT}]
provider = "external"
[channels.${ROOM}]
members = ${JSON.stringify(ROOM_MEMBERS)}
[connectors.filesystem.documents]
root = ${JSON.stringify(join(directory, 'documents'))}
`;
}
