import { Command } from 'commander';
import type { Context, GlobalOptions } from '../context.ts';

export function upCommand(context: Context): Command {
  return new Command('up')
    .description('Run the daemon in the foreground.')
    .option('--demo', 'show a small team at work')
    .option('--quiet', 'say nothing')
    .addHelpText('after', '\nExample:\n  substrat up --demo')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { demo?: boolean; quiet?: boolean }>();
      const { up } = await import('../../daemon/main.ts');
      const home = context.home();
      await up({
        home,
        configFile: options.config ?? null,
        version: context.version,
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
    });
}
