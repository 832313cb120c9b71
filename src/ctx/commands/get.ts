import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { withStore } from '../context.ts';

export function getCommand(context: Context): Command {
  return new Command('get')
    .description('Print a document.')
    .argument('<document>', 'its path, its id, or the last 6 or more characters of the id, as shown by `ctx search`')
    .addHelpText('after', '\nExample:\n  ctx get docs/deploy.md\n  ctx get 3f9a1c --json')
    .action(async (id: string, _: unknown, command: Command) => {
      const document = await withStore(context, command, ({ knowledge }) => knowledge.get(id));
      if (isJson(command)) return context.print(JSON.stringify(document));
      const { title, source, source_id, source_url, author, updated_at, body } = document;
      context.print(paint('bold', title ?? source_id));
      context.print(
        paint('dim', [`${source} ${source_id}`, author, updated_at, source_url].filter(Boolean).join('  ')),
      );
      context.print(`\n${body}`);
    });
}
