import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { createClient, type Status } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { spin } from '../../command-line/terminal.ts';
import { makeHome, unusable } from '../../config/home.ts';
import { SubstratError } from '../../core/errors.ts';
import { describeNotices, describePlaces, describeSandbox } from '../describe.ts';
import { SWITCH_STORE, warnOfUnread } from './up.ts';

const PATIENCE_MS = 20_000;
const PRELOAD = fileURLToPath(new URL('../../../bin/preload.cjs', import.meta.url));

interface StartOptions extends GlobalOptions {
  readonly switchStore?: boolean;
}

export function daemonCommand(context: Context): Command {
  return new Command('daemon')
    .description('Start, stop and inspect the background daemon.')
    .addCommand(startCommand(context))
    .addCommand(stopCommand(context))
    .addCommand(statusCommand(context))
    .addCommand(logsCommand(context));
}

function startCommand(context: Context): Command {
  return new Command('start')
    .description('Start the daemon in the background.')
    .option('--switch-store', SWITCH_STORE)
    .addHelpText('after', '\nExample:\n  substrat daemon start')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<StartOptions>();
      const running = await statusOf(context);
      if (running) {
        throw new SubstratError('home_in_use', `A daemon is already running on ${running.home} (pid ${running.pid}).`);
      }
      await warnOfUnread(context.home(), options.config, 'substrat daemon start');
      const stopSpinning = spin('Starting ...');
      const status = await startInBackground(context, options).finally(stopSpinning);
      if (options.json) return context.print(JSON.stringify(status));
      context.print(`The daemon is running (pid ${status.pid}) at ${status.url}.`);
      for (const line of describePlaces(status)) context.print(line);
      context.print(describeSandbox(status));
      for (const line of describeNotices(status)) context.print(line);
    });
}

async function startInBackground(context: Context, { config, switchStore }: StartOptions): Promise<Status> {
  const home = context.home();
  makeHome(home);
  const out = join(home, 'daemon.out');
  const file = openOutput(out);
  const args = [
    '--require',
    PRELOAD,
    process.argv[1] as string,
    'up',
    '--quiet',
    ...(config ? ['--config', config] : []),
    ...(switchStore ? ['--switch-store'] : []),
  ];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', file, file] });
  closeSync(file);
  let exit: number | null = null;
  child.on('exit', (code) => {
    exit = code ?? 1;
  });
  // A daemon that is backing up its store logs its progress.
  const log = join(home, 'daemon.log');
  let known = sizeOf(log);
  for (let giveUp = performance.now() + PATIENCE_MS; performance.now() < giveUp && exit === null; await sleep(20)) {
    const size = sizeOf(log);
    if (size !== known) giveUp = performance.now() + PATIENCE_MS;
    known = size;
    const status = await statusOf(context);
    if (status?.pid !== child.pid || !status?.url) continue;
    child.unref();
    return status;
  }
  if (exit === null) child.kill('SIGKILL');
  const reason = readFileSync(out, 'utf8')
    .trim()
    .replace(/^substrat: /, '');
  throw new SubstratError('not_running', reason || `The daemon did not start within ${PATIENCE_MS / 1000} seconds.`);
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

function openOutput(file: string): number {
  try {
    return openSync(file, 'w', 0o600);
  } catch (error) {
    throw unusable(dirname(file), error);
  }
}

function stopCommand(context: Context): Command {
  return new Command('stop')
    .description('Stop the daemon. Interrupted turns are retried at the next start.')
    .addHelpText('after', '\nExample:\n  substrat daemon stop')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const status = await statusOf(context);
      if (!status) throw new SubstratError('not_running', 'No daemon is running on this home.');
      process.kill(status.pid, 'SIGTERM');
      const stopSpinning = spin('Stopping ...');
      for (const giveUp = performance.now() + PATIENCE_MS; isAlive(status.pid); await sleep(20)) {
        if (performance.now() < giveUp) continue;
        stopSpinning();
        const message = `The daemon (pid ${status.pid}) does not stop. \`kill -9 ${status.pid}\` is safe: nothing is lost.`;
        throw new SubstratError('timeout', message);
      }
      stopSpinning();
      context.print(options.json ? JSON.stringify({ status: 'stopped', pid: status.pid }) : 'Stopped the daemon.');
    });
}

function statusCommand(context: Context): Command {
  return new Command('status')
    .description('Show whether the daemon is running. Exit code 1 if it is not.')
    .addHelpText('after', '\nExample:\n  substrat daemon status --json')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const status = await createClient({ home: context.home() }).getStatus();
      if (options.json) return context.print(JSON.stringify(status));
      context.print(`The daemon is running (pid ${status.pid}, version ${status.version}).`);
      context.print(`URL: ${status.url ?? 'none'}`);
      for (const line of describePlaces(status)) context.print(line);
      context.print(describeSandbox(status));
      for (const line of describeNotices(status)) context.print(line);
    });
}

function logsCommand(context: Context): Command {
  return new Command('logs')
    .description("Print the daemon's log.")
    .option('--lines <n>', 'only the last N lines', '100')
    .addHelpText('after', '\nExample:\n  substrat daemon logs --lines 20')
    .action((options: { lines: string }) => {
      const count = Number(options.lines);
      if (!Number.isInteger(count) || count < 1)
        throw new UsageError(`--lines takes a number; got "${options.lines}".`);
      for (const line of readLog(join(context.home(), 'daemon.log')).slice(-count)) context.print(line);
    });
}

function readLog(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n');
  } catch {
    throw new SubstratError('not_found', `There is no log at ${file}: no daemon has run on this home yet.`);
  }
}

async function statusOf(context: Context): Promise<Status | null> {
  try {
    return await createClient({ home: context.home() }).getStatus();
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'not_running') return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
