import type { Agent, Message, Status, SubstratEvent } from '../client/client.ts';
import { paint } from '../command-line/terminal.ts';
import { USER, USER_ID } from '../core/agent.ts';
import { shorten } from '../core/text.ts';

/** An event as one line; null for events that people need not see. */
export function describeEvent({ type, data }: SubstratEvent): string | null {
  switch (type) {
    case 'agent_created':
      return `${data.handle} is here`;
    case 'agent_terminated':
      return `${data.agent} ended: ${data.reason}`;
    case 'agent_paused':
      return `${data.agent} is paused: ${data.reason}`;
    case 'agent_resumed':
      return `${data.agent} was resumed`;
    case 'reminder_set':
      return `${data.agent} wants a reminder at ${data.due}`;
    case 'run_started':
      return `${data.agent} starts a turn`;
    case 'run_ended':
      return data.state === 'completed'
        ? `${data.agent} ends its turn, its process is gone`
        : `${data.agent}'s turn ${data.state}: ${data.error}`;
    case 'run_retried':
      return `${data.agent} will try its turn again: ${data.error}`;
    case 'message_created':
      return describeMessage(data);
    case 'reaction_added':
      return `${nameOf(data.by)} reacts with ${data.emoji}`;
    case 'channel_created':
      return `${nameOf(data.by)} opens #${data.channelId}`;
    case 'member_joined':
      return `${nameOf(data.participant)} joins #${data.channelId}`;
    case 'member_left':
      return `${nameOf(data.participant)} leaves #${data.channelId}`;
    case 'memory_updated':
      return `the block "${data.label}" of ${data.owner} has a new text`;
    case 'memory_deleted':
      return `the block "${data.label}" of ${data.owner} is deleted`;
    case 'passage_stored':
      return `${data.agent} remembers something`;
    default:
      return null;
  }
}

/** What holds an agent back, in a line. */
export function describeStatus({ kind, reason, since, until }: NonNullable<Agent['status']>): string {
  const when = until === null ? (since === null ? '' : ` since ${since}`) : ` until ${until}`;
  return `${kind}${when}${reason === null ? '' : `: ${shorten(reason.replace(/\s+/g, ' '), 160)}`}`;
}

/** The daemon's home, configuration and store. */
export function describePlaces({ home, config, store }: Status): string[] {
  return [`Home: ${home}`, `Configuration: ${config ?? 'none (defaults)'}`, `Store: ${store}`];
}

/** What the owner should know or do. */
export function describeNotices({ notices }: Status): string[] {
  return notices.map((notice) => paint('yellow', `Notice: ${notice}`));
}

/** Which sandbox confines agents, or that none does. */
export function describeSandbox({ sandbox, sandboxProblem }: Status): string {
  if (sandboxProblem !== null) return paint('red', `Sandbox: ${sandboxProblem}`);
  if (sandbox === 'bwrap') {
    return 'Sandbox: bwrap. Agents see their workspace, a private home and the system read-only.';
  }
  const warning = 'Sandbox: none. Agents run with your full permissions. Run only programs that you trust.';
  return paint('yellow', warning);
}

function describeMessage({ message, to }: { readonly message: Message; readonly to: readonly string[] }): string {
  const author = nameOf(message.from);
  const others = to.map(nameOf).join(', ');
  const text = shorten(message.text.replace(/\s+/g, ' '), 160);
  if (message.kind === 'notice') return `Substrat: ${text}`;
  if (message.late) return `${author} answers ${others} too late: ${text}`;
  if (message.kind === 'error') return `${author} could not answer ${others}: ${text}`;
  if (message.kind === 'reply') return `${author} ${others === USER ? 'reports to' : 'answers'} ${others}: ${text}`;
  if (!message.channelId.startsWith('dm-') && !message.request) return `${author} in #${message.channelId}: ${text}`;
  return `${author} ${message.request ? 'asks' : 'tells'} ${others || message.channelId}: ${text}`;
}

function nameOf(handle: string): string {
  return handle === USER_ID ? USER : handle;
}
