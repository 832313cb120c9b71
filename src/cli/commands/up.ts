import { Command } from 'commander';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { harmless } from '../../command-line/terminal.ts';
import { parseBind } from '../../config/bind.ts';

export const SWITCH_STORE = 'switch this home to the store named in the configuration';
export const BIND = 'address to listen on, instead of [server] bind; port 0 picks a free port';

export function upCommand(context: Context): Command {
  return new Command('up')
    .description('Run the daemon in the foreground.')
    .option('--demo', 'run a demo team')
    .option('--quiet', 'print nothing')
    .option('--bind <address>', BIND)
    .option('--switch-store', SWITCH_STORE)
    .addHelpText('after', '\nExample:\n  substrat up --demo\n  substrat up --bind 127.0.0.1:7332')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & { demo?: boolean; quiet?: boolean; bind?: string; switchStore?: boolean }
      >();
      const { endAtOnce, up } = await import('../../daemon/main.ts');
      const home = context.home();
      const bind = readBind(options.bind);
      if (!options.quiet) await warnOfUnread(home, options.config, 'substrat up');
      await up({
        home,
        configFile: options.config ?? null,
        version: context.version,
        switchStore: options.switchStore ?? false,
        ...(bind && { bind }),
        ...(options.demo && { ownProgram: (await import('../demo.ts')).PROGRAM }),
        onUp: async (started, stopping) => {
          if (options.quiet) return;
          const { tellWhatHappens } = await import('../feed.ts');
          const { demo = false, json = false } = options;
          const { version, print } = context;
          await tellWhatHappens({ ...started, home, version, print, demo, json }, stopping);
        },
      });
      if (!options.quiet && !options.json) context.print('Stopped. Nothing is left running.');
      endAtOnce();
    });
}

/** The address of `--bind`; null if it was not given. */
export function readBind(given: string | undefined): { host: string; port: number } | null {
  if (given === undefined) return null;
  const bind = parseBind(given);
  if (bind === null) throw new UsageError(`--bind takes an address such as 127.0.0.1:7331; got "${given}".`);
  return bind;
}

/** Warns on stderr about a file in the current directory that is not read, unless a configuration was named. */
export async function warnOfUnread(home: string, config: string | undefined, command: string): Promise<void> {
  if (config !== undefined) return;
  const { describeUnreadConfig } = await import('../unread-config.ts');
  const unread = describeUnreadConfig(process.cwd(), home, command);
  if (unread !== null) process.stderr.write(`substrat: ${harmless(unread)}\n`);
}
