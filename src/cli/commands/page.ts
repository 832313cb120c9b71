import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';

export function pageCommand(context: Context): Command {
  return new Command('page')
    .description('Print a link that opens the page and signs one browser in, within 2 minutes.')
    .option('--as <name>', 'person who opens it; "user" is you', 'user')
    .addHelpText('after', '\nExample:\n  substrat page --as anna')
    .action(async (_: unknown, command: Command) => {
      const { json, as } = command.optsWithGlobals<GlobalOptions & { as: string }>();
      const link = await createClient({ home: context.home() }).createLink({ as });
      context.print(json ? JSON.stringify(link) : (link.url ?? 'The daemon does not serve TCP: set [server] bind.'));
    });
}
