import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { type Agent, allPages, type Client, createClient } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { SubstratError } from '../../core/errors.ts';
import { Conversation } from '../conversation.ts';
import { describePost } from '../describe-post.ts';

const SHOWN = 6;

export function chatCommand(context: Context): Command {
  return new Command('chat')
    .description('Talk with an agent: what it writes and the tools it calls appear as they happen.')
    .argument('[ref]', 'the agent (default: the only one without a parent)')
    .addHelpText('after', '\nExample:\n  substrat chat lead')
    .action(async (ref: string | undefined, _: unknown, command: Command) => {
      if (command.optsWithGlobals<GlobalOptions>().json) {
        throw new UsageError('A chat has no JSON form; use `substrat agent send --wait --json`.');
      }
      const client = createClient({ home: context.home() });
      const agent = ref === undefined ? await onlyRoot(client) : await client.getAgent(ref);
      if (agent.state === 'terminated') throw new SubstratError('terminated', `${agent.handle} is terminated.`);
      const { items } = await client.listMessages(agent.id, { limit: SHOWN });
      for (const message of [...items].reverse()) context.print(describePost(message));
      context.print(paint('dim', `Chat with ${agent.handle}. Ctrl-C stops waiting for an answer, Ctrl-D leaves.`));
      await talk(client, agent, await lastEvent(client), context);
    });
}

/** Reads lines and sends each; the next one is read when the agent has answered or asks something. */
async function talk(client: Client, agent: Agent, after: number | undefined, context: Context): Promise<void> {
  const left = new AbortController();
  const terminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const lines = createInterface({ input: process.stdin, output: process.stdout, terminal, prompt: '> ' });
  const conversation = new Conversation(agent, {
    write: (text) => void process.stdout.write(text),
    interrupt: () => void (terminal && process.stdout.write('\r\x1b[2K')),
    prompt: () => void (terminal && lines.prompt(true)),
  });
  const interrupted = (): void => {
    if (conversation.giveUp()) return;
    left.abort();
    lines.close();
  };
  lines.on('SIGINT', interrupted);
  process.on('SIGINT', interrupted);
  const following = conversation.follow(client, after, left.signal).catch((error: unknown) => {
    lines.close();
    throw error;
  });
  // A failure is reported at the end, whatever is awaited until then.
  following.catch(() => {});
  conversation.ready();
  for await (const line of lines) {
    const text = line.trim();
    if (text !== '') {
      const sent = client.sendMessage(agent.id, { text });
      if ((await conversation.answer(sent)) === 'left') {
        context.print(paint('dim', 'The answer will be in `substrat inbox`, and here if you stay.'));
      }
    }
    conversation.ready();
  }
  left.abort();
  process.off('SIGINT', interrupted);
  await following;
}

/** The number of the last event, so that nothing is missed before the stream is open; undefined if there is none. */
async function lastEvent(client: Client): Promise<number | undefined> {
  for await (const { seq } of client.followEvents({ after: -1, signal: AbortSignal.timeout(1000) })) return seq;
  return undefined;
}

async function onlyRoot(client: Client): Promise<Agent> {
  const agents: Agent[] = [];
  for await (const agent of allPages((query) => client.listAgents(query))) agents.push(agent);
  const roots = agents.filter(({ parentId }) => parentId === null);
  const [only] = roots;
  if (only && roots.length === 1) return only;
  if (!only) throw new SubstratError('not_found', 'There are no agents yet. Run `substrat agent create --help`.');
  throw new UsageError(`Name one of your agents: ${roots.map(({ handle }) => handle).join(', ')}.`);
}
