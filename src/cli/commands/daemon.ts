import { join } from 'node:path';
import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { spin } from '../../command-line/terminal.ts';
import { SubstratError } from '../../core/errors.ts';
import { startInBackground, statusOf, stopInBackground } from '../background.ts';
import { describeNotices, describePlaces, describeSandbox } from '../describe.ts';
import { describeLogLine, followLines, readLines } from '../log-lines.ts';
import { BIND, readBind, SWITCH_STORE, warnOfUnread } from './up.ts';

interface StartOptions extends GlobalOptions {
  readonly switchStore?: boolean;
  readonly bind?: string;
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
    .option('--bind <address>', BIND)
    .option('--switch-store', SWITCH_STORE)
    .addHelpText('after', '\nExample:\n  substrat daemon start\n  substrat daemon start --bind 127.0.0.1:0')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<StartOptions>();
      readBind(options.bind);
      const running = await statusOf(context.home());
      if (running) {
        throw new SubstratError('home_in_use', `A daemon is already running on ${running.home} (pid ${running.pid}).`);
      }
      await warnOfUnread(context.home(), options.config, 'substrat daemon start');
      const stopSpinning = spin('Starting ...');
      const status = await startInBackground(context.home(), options).finally(stopSpinning);
      if (options.json) return context.print(JSON.stringify(status));
      context.print(`The daemon is running (pid ${status.pid}) at ${status.url}.`);
      for (const line of describePlaces(status)) context.print(line);
      context.print(describeSandbox(status));
      for (const line of describeNotices(status)) context.print(line);
    });
}

function stopCommand(context: Context): Command {
  return new Command('stop')
    .description('Stop the daemon. Interrupted turns are retried at the next start.')
    .addHelpText('after', '\nExample:\n  substrat daemon stop')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const status = await statusOf(context.home());
      if (!status) throw new SubstratError('not_running', 'No daemon is running on this home.');
      const stopSpinning = spin('Stopping ...');
      await stopInBackground(status.pid).finally(stopSpinning);
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
      context.print(`Limits of a turn: ${status.limits}`);
      for (const line of describeNotices(status)) context.print(line);
    });
}

function logsCommand(context: Context): Command {
  return new Command('logs')
    .description("Print the daemon's log. With --json, the lines as they are stored.")
    .option('--lines <n>', 'only the last N lines', '100')
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .addHelpText('after', '\nExample:\n  substrat daemon logs -f --lines 20')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { lines: string; follow?: boolean }>();
      const count = Number(options.lines);
      if (!Number.isInteger(count) || count < 1)
        throw new UsageError(`--lines takes a number; got "${options.lines}".`);
      const file = join(context.home(), 'daemon.log');
      const show = (line: string) => context.print(options.json ? line : describeLogLine(line));
      const { lines, place } = readLog(file);
      for (const line of lines.slice(-count)) show(line);
      if (!options.follow) return;
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      for await (const line of followLines(file, place, stop.signal)) show(line);
    });
}

function readLog(file: string): ReturnType<typeof readLines> {
  try {
    return readLines(file);
  } catch {
    throw new SubstratError('not_found', `There is no log at ${file}: no daemon has run on this home yet.`);
  }
}
