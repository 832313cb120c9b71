import { Command } from 'commander';
import { type Channel, type Client, createClient } from '../../client/client.ts';
import { agreed } from '../../command-line/ask.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { SubstratError } from '../../core/errors.ts';
import { counted } from '../../core/text.ts';

export function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description('Delete a channel with its messages. Runs keep what agents read and wrote. This cannot be undone.')
    .argument('<channel>', 'channel id')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExample:\n  substrat channel export general > general.md && substrat channel delete general',
    )
    .action(async (reference: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      const client = createClient({ home: context.home() });
      const { id } = await channelOf(client, reference);
      const question = `Delete #${id} with all of its messages, for good?`;
      if (!options.yes && !(await agreed(question))) return context.print('Nothing was changed.');
      const deleted = await client.deleteChannel(id);
      const words = `Deleted #${id} with ${counted(deleted.messages, 'message')}.`;
      context.print(options.json ? JSON.stringify(deleted) : words);
    });
}

async function channelOf(client: Client, reference: string): Promise<Channel> {
  try {
    return await client.getChannel(reference);
  } catch (error) {
    if (!(error instanceof SubstratError && error.code === 'not_found')) throw error;
    const hint = 'To delete a message, run `substrat channel delete-message`.';
    throw new SubstratError('not_found', `${error.message} ${hint}`);
  }
}
