import { Command } from 'commander';
import { type Client, createClient, type Message, type MessageCreation } from '../../client/client.ts';
import { type Context, type GlobalOptions, readArgument, UsageError } from '../../command-line/context.ts';
import { spin } from '../../command-line/terminal.ts';
import { SubstratError } from '../../core/errors.ts';
import { shortId } from '../../core/short-id.ts';
import { readAttachment, withAttach } from '../attach.ts';
import { WorkShown } from '../work-shown.ts';

/** How long one request to the daemon waits for a reply before it is repeated. */
const WAIT_SLICE_S = 30;

export function sendCommand(context: Context): Command {
  return withAttach(new Command('send'))
    .description(
      'Send a message to an agent as yourself. If the agent has exactly one open question to you, the message answers it. Otherwise the message is a request that the agent will answer.',
    )
    .argument('<ref>', 'the agent')
    .argument('<text>', 'message text; "-" reads stdin')
    .option('--wait', 'wait for the answer and print it; what the agent does meanwhile is shown on stderr')
    .option('--quiet', 'with --wait: print only the answer')
    .option('--timeout <seconds>', 'how long to wait (default: no limit)')
    .option('--reply-to <message>', 'answer the question with this message id; `substrat inbox` shows them')
    .option('--new', 'send a new request even if the agent has an open question to you')
    .addHelpText('after', '\nExample:\n  substrat agent send lead "How far are you?" --wait')
    .action(async (ref: string, text: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & SendOptions>();
      if (options.new && options.replyTo) throw new UsageError('Give --new or --reply-to, not both.');
      const timeout = options.timeout === undefined ? Number.POSITIVE_INFINITY : Number(options.timeout);
      if (!(timeout > 0)) throw new UsageError(`--timeout takes a number of seconds; got "${options.timeout}".`);
      const client = createClient({ home: context.home() });
      const creation = {
        text: readArgument(text),
        ...(options.attach.length > 0 && { attachments: options.attach.map(readAttachment) }),
        ...(options.replyTo && { inReplyTo: options.replyTo }),
        ...(options.new && { inReplyTo: null }),
      };
      const isShown = options.wait && !options.quiet && !options.json;
      const { sent, waiting } = await send(client, ref, creation, isShown ?? false);
      const { messageId, answered, recipientState } = sent;
      // A message that answers a question gets no reply of its own.
      if (!options.wait || answered) {
        waiting.end();
        const line = answered
          ? `Answered the question ${shortId(answered)} (${shortId(messageId)}).`
          : `Sent (${shortId(messageId)}).${recipientState ? ` ${ref} is ${recipientState}: it answers after \`substrat agent resume ${ref}\`.` : ''}`;
        return context.print(options.json ? JSON.stringify(sent) : line);
      }
      const stopTelling = tellWhereAnswerIs(messageId, waiting.end);
      let written = '';
      const reply = await waitForReply(client, messageId, timeout).finally(() => {
        stopTelling();
        written = waiting.end();
      });
      const { messageId: replyId, from, text: answer } = reply;
      if (reply.kind === 'error') throw new SubstratError('conflict', `${from} could not answer: ${answer}`);
      if (options.json)
        return context.print(JSON.stringify({ messageId, reply: { messageId: replyId, from, text: answer } }));
      // On one screen, the answer is there already.
      const isSeen = process.stdout.isTTY && process.stderr.isTTY && written.trim() === answer.trim();
      if (!isSeen) context.print(answer);
    });
}

interface SendOptions {
  readonly attach: readonly string[];
  readonly wait?: boolean;
  readonly quiet?: boolean;
  readonly timeout?: string;
  readonly replyTo?: string;
  readonly new?: boolean;
}

/** Sends it. With `isShown`, what the agent does is shown from before it could begin, until `end` is called. */
async function send(client: Client, ref: string, creation: MessageCreation, isShown: boolean) {
  if (!isShown) return { sent: await client.sendMessage(ref, creation), waiting: { end: () => '' } };
  const { promise: request, resolve } = Promise.withResolvers<string>();
  const stopSpinning = spin(`Waiting for ${ref} ...`);
  const write = (text: string): void => {
    stopSpinning();
    process.stderr.write(text);
  };
  const work = new WorkShown(client, { agent: ref, request, write });
  const end = (): string => {
    stopSpinning();
    return work.end();
  };
  try {
    const sent = await client.sendMessage(ref, creation);
    resolve(sent.messageId);
    return { sent, waiting: { end } };
  } catch (error) {
    end();
    throw error;
  }
}

/** On Ctrl-C, says how to get the answer; then the signal ends the process as usual. */
function tellWhereAnswerIs(messageId: string, stopShowing: () => void): () => void {
  const tell = (): void => {
    stopShowing();
    console.error(`\nThe turn goes on. Its answer will be in \`substrat inbox show ${shortId(messageId)}\`.`);
    process.kill(process.pid, 'SIGINT');
  };
  process.once('SIGINT', tell);
  return () => process.off('SIGINT', tell);
}

async function waitForReply(client: Client, messageId: string, timeoutS: number): Promise<Message> {
  const giveUp = performance.now() + timeoutS * 1000;
  for (;;) {
    const left = (giveUp - performance.now()) / 1000;
    if (left <= 0) {
      throw new SubstratError(
        'timeout',
        `No answer within ${timeoutS} seconds; it will still come: \`substrat inbox show ${shortId(messageId)}\`.`,
      );
    }
    const reply = await client.awaitReply(messageId, Math.min(WAIT_SLICE_S, left));
    if (reply) return reply;
  }
}
