import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { withStore } from '../context.ts';

export function sourcesCommand(context: Context): Command {
  return new Command('sources')
    .description('List the sources and their status.')
    .addHelpText('after', '\nExample:\n  ctx sources')
    .action(async (_: unknown, command: Command) => {
      const { sources } = await withStore(context, command, ({ knowledge }) => knowledge.sources());
      if (isJson(command)) return context.print(JSON.stringify({ sources }));
      if (sources.length === 0)
        return context.print('No sources. Add a [connectors.TYPE.NAME] section to the configuration.');
      const rows = sources.map(({ name, configured, healthy, notes }) => [
        name,
        configured ? 'yes' : 'no',
        healthy ? 'yes' : 'no',
        notes ?? '',
      ]);
      for (const line of table(['NAME', 'CONFIGURED', 'HEALTHY', 'NOTES'], rows)) context.print(line);
    });
}
