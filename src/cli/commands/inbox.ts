import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import { type Context, type GlobalOptions, readCount } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';

export function inboxCommand(context: Context): Command {
  return new Command('inbox')
    .description('Show messages from agents to you, newest first.')
    .option('--open', 'only open questions')
    .option('--limit <n>', 'maximum number', '20')
    .addHelpText('after', '\nExample:\n  substrat inbox --open\n  substrat agent send lead "Yes." --reply-to ID')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { open?: boolean; limit: string }>();
      const limit = readCount('--limit', options.limit);
      const page = await createClient({ home: context.home() }).listInbox({ open: options.open ?? false, limit });
      if (options.json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print(options.open ? 'No open questions.' : 'No messages yet.');
      const rows = page.items.map((message) => [
        message.from,
        message.request === 'open' ? 'waits' : message.kind,
        message.createdAt.slice(0, 19).replace('T', ' '),
        message.messageId,
        message.text,
      ]);
      for (const line of table(['FROM', 'KIND', 'WHEN', 'ID', 'TEXT'], rows)) context.print(line);
    });
}
