import { Command, Option } from 'commander';
import { createClient, type Member, type Message } from '../../client/client.ts';
import { type Context, type GlobalOptions, readArgument, readCount } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';

type Wake = Member['wake'] & string;
const WAKES: readonly Wake[] = ['all', 'mentions', 'none'];

export function channelCommand(context: Context): Command {
  return new Command('channel')
    .description('Read and post in channels and DMs, and manage their members.')
    .addCommand(listCommand(context))
    .addCommand(createCommand(context))
    .addCommand(readCommand(context))
    .addCommand(postCommand(context))
    .addCommand(topicCommand(context))
    .addCommand(membersCommand(context))
    .addCommand(joinCommand(context))
    .addCommand(leaveCommand(context))
    .addCommand(wakeCommand(context))
    .addCommand(reactCommand(context))
    .addCommand(editCommand(context))
    .addCommand(deleteCommand(context));
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the channels and DMs you can see.')
    .option('--limit <n>', 'maximum number', '100')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { limit: string }>();
      const page = await clientOf(context).listChannels({ limit: readCount('--limit', options.limit) });
      if (options.json) return context.print(JSON.stringify(page));
      if (page.items.length === 0)
        return context.print('No channels yet. Run `substrat channel create general` to create one.');
      const rows = page.items.map(({ id, kind, unread, topic }) => [id, kind, unread ? String(unread) : '', topic]);
      for (const line of table(['ID', 'KIND', 'UNREAD', 'TOPIC'], rows)) context.print(line);
    });
}

function createCommand(context: Context): Command {
  return new Command('create')
    .description('Create a channel. You become a member.')
    .argument('<id>', 'lowercase letters, digits, "_" and "-"')
    .option('--private', 'visible to members only')
    .option('--topic <text>', 'topic of the channel', '')
    .option('--members <refs>', 'agents and people, separated by commas; agents answer in this order', '')
    .addHelpText('after', '\nExample:\n  substrat channel create general --topic "Everything" --members lead,worker')
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { private?: boolean; topic: string; members: string }>();
      const { topic } = options;
      const members = options.members.split(',').filter(Boolean);
      const kind = options.private ? 'private' : 'public';
      const channel = await clientOf(context).createChannel({ id, kind, topic, members });
      context.print(options.json ? JSON.stringify(channel) : `Created #${channel.id}.`);
    });
}

function readCommand(context: Context): Command {
  return new Command('read')
    .description('Show messages, oldest first, and mark them as read.')
    .argument('<channel>', 'channel id, or dm-x-y')
    .option('--thread <message>', 'only this thread')
    .option('--limit <n>', 'number of most recent messages', '20')
    .addHelpText('after', '\nExample:\n  substrat channel read general --limit 50')
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { thread?: string; limit: string }>();
      const client = clientOf(context);
      const limit = readCount('--limit', options.limit);
      const page = await client.listChannelMessages(id, { limit, thread: options.thread });
      await client.markRead(id);
      if (options.json) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print('No messages yet.');
      for (const message of [...page.items].reverse()) context.print(describe(message));
    });
}

function postCommand(context: Context): Command {
  return new Command('post')
    .description('Post a message to a channel or DM.')
    .argument('<channel>', 'channel id, or dm-x-y')
    .argument('<text>', 'message text; "-" reads stdin')
    .option('--thread <message>', 'reply in the thread of this message')
    .addHelpText('after', '\nExample:\n  substrat channel post general "Good morning, @ann!"')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { thread?: string }>();
      const words = { text: readArgument(text), parentMessageId: options.thread };
      const said = await clientOf(context).postMessage(id, words);
      context.print(options.json ? JSON.stringify(said) : `Posted (${said.messageId}).`);
    });
}

function topicCommand(context: Context): Command {
  return new Command('topic')
    .description('Set the topic of a channel.')
    .argument('<channel>')
    .argument('<text>')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const channel = await clientOf(context).setTopic(id, text);
      context.print(json ? JSON.stringify(channel) : `Topic of #${channel.id}: ${channel.topic}`);
    });
}

function membersCommand(context: Context): Command {
  return new Command('members')
    .description('List the members of a channel, in the order in which agents answer.')
    .argument('<channel>')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await clientOf(context).listMembers(id);
      if (json) return context.print(JSON.stringify(page));
      const rows = page.items.map(({ handle, kind, wake }) => [handle, kind, wake ?? '']);
      for (const line of table(['HANDLE', 'KIND', 'WOKEN BY'], rows)) context.print(line);
    });
}

function joinCommand(context: Context): Command {
  return new Command('join')
    .description('Add an agent or a person to a channel.')
    .argument('<channel>')
    .argument('<participant>', "an agent's REF or a person's handle")
    .addOption(wakeOption().default('all'))
    .addHelpText('after', '\nExample:\n  substrat channel join general worker --wake mentions')
    .action(async (id: string, participant: string, _: unknown, command: Command) => {
      const { json, wake } = command.optsWithGlobals<GlobalOptions & { wake: Wake }>();
      const page = await clientOf(context).addMember(id, { participant, wake });
      context.print(json ? JSON.stringify(page) : `Added ${participant} to #${id}.`);
    });
}

function leaveCommand(context: Context): Command {
  return new Command('leave')
    .description('Remove an agent or a person from a channel.')
    .argument('<channel>')
    .argument('<participant>', "an agent's REF or a person's handle")
    .action(async (id: string, participant: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const left = await clientOf(context).removeMember(id, participant);
      context.print(json ? JSON.stringify(left) : `Removed ${participant} from #${id}.`);
    });
}

function wakeCommand(context: Context): Command {
  return new Command('wake')
    .description("Set what wakes an agent in a channel: all people's posts, only mentions, or nothing.")
    .argument('<channel>')
    .argument('<agent>', 'its REF')
    .addArgument(new Command().createArgument('<when>').choices(WAKES))
    .action(async (id: string, participant: string, wake: Wake, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await clientOf(context).setWake(id, participant, wake);
      context.print(json ? JSON.stringify(page) : `In #${id}, ${participant} is woken by: ${wake}.`);
    });
}

function reactCommand(context: Context): Command {
  return new Command('react')
    .description('React to a message with an emoji.')
    .argument('<message>', 'its id')
    .argument('<emoji>')
    .option('--remove', 'remove the reaction')
    .action(async (id: string, emoji: string, _: unknown, command: Command) => {
      const { json, remove } = command.optsWithGlobals<GlobalOptions & { remove?: boolean }>();
      const client = clientOf(context);
      const message = await (remove ? client.unreact(id, emoji) : client.react(id, emoji));
      context.print(json ? JSON.stringify(message) : describe(message));
    });
}

function editCommand(context: Context): Command {
  return new Command('edit')
    .description('Edit one of your messages.')
    .argument('<message>', 'its id')
    .argument('<text>', 'new text; "-" reads stdin')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const message = await clientOf(context).editMessage(id, readArgument(text));
      context.print(json ? JSON.stringify(message) : describe(message));
    });
}

function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description('Delete one of your messages.')
    .argument('<message>', 'its id')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const deleted = await clientOf(context).deleteMessage(id);
      context.print(json ? JSON.stringify(deleted) : 'Deleted.');
    });
}

function wakeOption(): Option {
  return new Option('--wake <when>', "what wakes an agent: all people's posts, mentions, none").choices(WAKES);
}

function describe(message: Message): string {
  const when = message.createdAt.slice(0, 16).replace('T', ' ');
  const marks = [
    message.parentMessageId && `in the thread ${message.parentMessageId}`,
    message.editedAt && 'edited',
    ...message.reactions.map(({ emoji, users }) => `${emoji} ${users.join(', ')}`),
  ].filter(Boolean);
  const head = `${paint('bold', message.from)} ${paint('dim', [when, message.messageId, ...marks].join(' · '))}`;
  return `${head}\n  ${message.deletedAt ? paint('dim', '(deleted)') : message.text.replaceAll('\n', '\n  ')}`;
}

function clientOf(context: Context) {
  return createClient({ home: context.home() });
}
