import { Command } from 'commander';
import { createClient, type Message } from '../../client/client.ts';
import { type Context, type GlobalOptions, readArgument, readCount } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { ago } from '../../command-line/time.ts';
import { shortId } from '../../core/short-id.ts';
import { describePost } from '../describe-post.ts';
import { describeQuestion } from '../describe-question.ts';

const EXAMPLE = `
Examples:
  substrat inbox --open
  substrat answer 3f9a1c "Use main."
  substrat approve 3f9a1c
  substrat inbox reply 3f9a1c "Yes."`;

export function inboxCommand(context: Context): Command {
  return new Command('inbox')
    .description('Show what waits for you, then messages from agents to you, newest first.')
    .option('--open', 'only what waits: questions, approvals and messages that expect a reply')
    .option('--limit <n>', 'maximum number', '20')
    .addHelpText('after', EXAMPLE)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { open?: boolean; limit: string }>();
      const limit = readCount('--limit', options.limit);
      const client = createClient({ home: context.home() });
      const page = await client.listInbox({ open: options.open ?? false, limit });
      const { items: questions } = await client.listQuestions({ limit });
      if (options.json) return context.print(JSON.stringify({ ...page, questions }));
      const asked = new Set(questions.map(({ id }) => id));
      const messages = page.items.filter(({ messageId }) => !asked.has(messageId));
      if (messages.length + questions.length === 0) {
        return context.print(options.open ? 'No open questions.' : 'No messages yet.');
      }
      for (const question of questions) context.print(`${describeQuestion(question)}\n`);
      if (messages.length === 0) return;
      const rows = messages.map((message) => [
        shortId(message.messageId),
        message.from,
        message.request === 'open' ? 'waits' : message.kind,
        ago(message.createdAt),
        message.text,
      ]);
      for (const line of table(['ID', 'FROM', 'KIND', 'WHEN', 'TEXT'], rows)) context.print(line);
    })
    .addCommand(showCommand(context))
    .addCommand(replyCommand(context));
}

function showCommand(context: Context): Command {
  return new Command('show')
    .description('Show a message with its whole text and its replies.')
    .argument('<message>', 'its id, or the last 6 or more characters of it')
    .addHelpText('after', '\nExample:\n  substrat inbox show 3f9a1c')
    .action(async (id: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const message = await client.getMessage(id);
      const { items: replies } = await client.listReplies(message.messageId);
      if (json) return context.print(JSON.stringify({ ...message, replies }));
      for (const one of [message, ...replies]) context.print(describePost(one));
      const next = nextStep(message, replies.length);
      if (next !== null) context.print(next);
    });
}

function replyCommand(context: Context): Command {
  return new Command('reply')
    .description('Answer a question of an agent. If it is closed already, your text is a new message to that agent.')
    .argument('<message>', 'its id, or the last 6 or more characters of it')
    .argument('<text>', 'your answer; "-" reads stdin')
    .addHelpText('after', '\nExample:\n  substrat inbox reply 3f9a1c "Yes, the second one."')
    .action(async (id: string, text: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const { messageId, from, request } = await client.getMessage(id);
      const inReplyTo = request === 'open' ? messageId : null;
      const sent = await client.sendMessage(from, { text: readArgument(text), inReplyTo });
      if (json) return context.print(JSON.stringify(sent));
      context.print(sent.answered ? `Answered ${from}.` : `Sent to ${from} (${shortId(sent.messageId)}).`);
    });
}

function nextStep({ messageId, from, request }: Message, replies: number): string | null {
  if (request !== 'open') return null;
  const id = shortId(messageId);
  return from === 'user'
    ? `No answer yet${replies > 0 ? ' that closes it' : ''}.`
    : `${from} waits for your answer: substrat inbox reply ${id} "..."`;
}
