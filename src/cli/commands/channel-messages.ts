import { Command } from 'commander';
import { createClient } from '../../client/client.ts';
import { type Context, type GlobalOptions, readCount } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { ago } from '../../command-line/time.ts';
import { shortId } from '../../core/short-id.ts';

export function searchCommand(context: Context): Command {
  return new Command('search')
    .description('Search the messages of all channels and DMs you can see, best match first.')
    .argument('<query>', 'words, or any text')
    .option('--channel <id>', 'only this channel, or dm-x-y')
    .option('--since <time>', 'only from this date (2026-01-31) or time on')
    .option('--until <time>', 'only before this date or time')
    .option('--limit <n>', 'maximum number', '20')
    .addHelpText('after', '\nExample:\n  substrat channel search "release date" --since 2026-01-31')
    .action(async (q: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & { channel?: string; since?: string; until?: string; limit: string }
      >();
      const { channel, since, until } = options;
      const page = await createClient({ home: context.home() }).findMessages({
        q,
        limit: readCount('--limit', options.limit),
        ...(channel !== undefined && { channel }),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
      });
      if (options.json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) context.print('Nothing found.');
      for (const { channelId, messageId, from, text, createdAt } of page.items) {
        const where = [createdAt, `#${channelId}`, from, shortId(messageId ?? '')].join(' ');
        context.print(`${paint('dim', where)}\n${text}\n`);
      }
      if (!page.complete) context.print('Only the newest 20,000 messages were searched. Use --channel to search one.');
    });
}

export function queuedCommand(context: Context): Command {
  return new Command('queued')
    .description(
      'List your messages in a channel that an agent has not received yet. You can still edit or delete them.',
    )
    .argument('<channel>', 'channel id, or dm-x-y')
    .addHelpText('after', '\nExample:\n  substrat channel queued dm-lead-user')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await createClient({ home: context.home() }).listQueued(id);
      if (json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print('No queued messages.');
      const rows = page.items.map(({ messageId, to, createdAt, text }) => [
        shortId(messageId),
        to.join(', '),
        ago(createdAt),
        text,
      ]);
      for (const line of table(['ID', 'TO', 'WHEN', 'TEXT'], rows)) context.print(line);
    });
}
