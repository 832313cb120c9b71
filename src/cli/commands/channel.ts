import { Command, Option } from 'commander';
import { allPages, createClient, type Member, type Message } from '../../client/client.ts';
import { type Context, type GlobalOptions, readArgument, readCount } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { showCount } from '../../core/counts.ts';
import { shortId } from '../../core/short-id.ts';
import { readAttachment, withAttach } from '../attach.ts';
import { describePost } from '../describe-post.ts';
import { channelMarkdown } from '../export.ts';
import { deleteCommand } from './channel-delete.ts';
import { queuedCommand, searchCommand } from './channel-messages.ts';

type Wake = Member['wake'] & string;
const WAKES: readonly Wake[] = ['all', 'mentions', 'none'];

export function channelCommand(context: Context): Command {
  return new Command('channel')
    .description('Read and post in channels and DMs, and manage their members.')
    .addCommand(listCommand(context))
    .addCommand(createCommand(context))
    .addCommand(readCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(searchCommand(context))
    .addCommand(queuedCommand(context))
    .addCommand(postCommand(context))
    .addCommand(topicCommand(context))
    .addCommand(membersCommand(context))
    .addCommand(joinCommand(context))
    .addCommand(leaveCommand(context))
    .addCommand(wakeCommand(context))
    .addCommand(reactCommand(context))
    .addCommand(editCommand(context))
    .addCommand(deleteMessageCommand(context))
    .addCommand(deleteCommand(context));
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the channels and DMs you can see.')
    .option('--limit <n>', 'maximum number', '100')
    .addHelpText('after', '\nExample:\n  substrat channel list')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { limit: string }>();
      const page = await clientOf(context).listChannels({ limit: readCount('--limit', options.limit) });
      if (options.json) return context.print(JSON.stringify(page));
      if (page.items.length === 0)
        return context.print('No channels yet. Run `substrat channel create general` to create one.');
      const rows = page.items.map(({ id, kind, unread, topic }) => [id, kind, unread ? showCount(unread) : '', topic]);
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
    .option('--thread <message>', 'only the thread of this message')
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
      for (const message of [...page.items].reverse()) context.print(describePost(message));
    });
}

function exportCommand(context: Context): Command {
  return new Command('export')
    .description('Print all messages of a channel or DM, oldest first, as Markdown, or as JSON with --json.')
    .argument('<channel>', 'channel id, or dm-x-y')
    .addHelpText('after', '\nExample:\n  substrat channel export general > general.md')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = clientOf(context);
      const channel = await client.getChannel(id);
      const messages: Message[] = [];
      for await (const message of allPages((query) => client.listChannelMessages(id, query))) messages.push(message);
      messages.reverse();
      context.print(json ? JSON.stringify({ channel, messages }) : channelMarkdown(channel, messages).trimEnd());
    });
}

function postCommand(context: Context): Command {
  return withAttach(new Command('post'))
    .description('Post a message to a channel or DM.')
    .argument('<channel>', 'channel id, or dm-x-y')
    .argument('<text>', 'message text; "-" reads stdin')
    .option('--thread <message>', 'reply in the thread of this message')
    .addHelpText('after', '\nExample:\n  substrat channel post general "Good morning, @ann!"')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { thread?: string; attach: readonly string[] }>();
      const attachments = options.attach.map(readAttachment);
      const words = { text: readArgument(text), parentMessageId: options.thread, attachments };
      const said = await clientOf(context).postMessage(id, words);
      context.print(options.json ? JSON.stringify(said) : `Posted (${shortId(said.messageId)}).`);
    });
}

function topicCommand(context: Context): Command {
  return new Command('topic')
    .description('Set the topic of a channel.')
    .argument('<channel>')
    .argument('<text>')
    .addHelpText('after', '\nExample:\n  substrat channel topic general "Releases"')
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
    .addHelpText('after', '\nExample:\n  substrat channel members general')
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
    .addHelpText('after', '\nExample:\n  substrat channel leave general worker')
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
    .addHelpText('after', '\nExample:\n  substrat channel wake general worker mentions')
    .action(async (id: string, participant: string, wake: Wake, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const page = await clientOf(context).setWake(id, participant, wake);
      context.print(json ? JSON.stringify(page) : `In #${id}, ${participant} is woken by: ${wake}.`);
    });
}

function reactCommand(context: Context): Command {
  return new Command('react')
    .description('React to a message with an emoji.')
    .argument('<message>', 'its id, or the last 6 or more characters of it')
    .argument('<emoji>')
    .option('--remove', 'remove the reaction')
    .addHelpText('after', '\nExample:\n  substrat channel react 3f9a1c 👍')
    .action(async (id: string, emoji: string, _: unknown, command: Command) => {
      const { json, remove } = command.optsWithGlobals<GlobalOptions & { remove?: boolean }>();
      const client = clientOf(context);
      const message = await (remove ? client.unreact(id, emoji) : client.react(id, emoji));
      context.print(json ? JSON.stringify(message) : describePost(message));
    });
}

function editCommand(context: Context): Command {
  return new Command('edit')
    .description('Edit one of your messages.')
    .argument('<message>', 'its id, or the last 6 or more characters of it')
    .argument('<text>', 'new text; "-" reads stdin')
    .addHelpText('after', '\nExample:\n  substrat channel edit 3f9a1c "Good morning!"')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const message = await clientOf(context).editMessage(id, readArgument(text));
      context.print(json ? JSON.stringify(message) : describePost(message));
    });
}

function deleteMessageCommand(context: Context): Command {
  return new Command('delete-message')
    .description('Delete one of your messages.')
    .argument('<message>', 'its id, or the last 6 or more characters of it')
    .addHelpText('after', '\nExample:\n  substrat channel delete-message 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const deleted = await clientOf(context).deleteMessage(id);
      context.print(json ? JSON.stringify(deleted) : 'Deleted.');
    });
}

function wakeOption(): Option {
  return new Option('--wake <when>', "what wakes an agent: all people's posts, mentions, none").choices(WAKES);
}

function clientOf(context: Context) {
  return createClient({ home: context.home() });
}
