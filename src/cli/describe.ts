import type { Message, Status, SubstratEvent } from '../client/client.ts';
import { paint } from '../command-line/terminal.ts';
import { localTime } from '../command-line/time.ts';
import { USER } from '../core/agent.ts';
import { shorten } from '../core/text.ts';
import { nameOf } from './agent-words.ts';

/** An event as one line; null for events that people need not see. */
export function describeEvent({ type, data }: SubstratEvent): string | null {
  switch (type) {
    case 'agent_created':
      return `${data.handle} was created`;
    case 'agent_terminated':
      return `${data.agent} was terminated: ${data.reason}`;
    case 'agent_deleted':
      return `${data.handle} was deleted`;
    case 'agent_updated':
      return `${data.agent} has new settings: ${data.changed.join(', ')}`;
    case 'agent_paused':
      return `${data.agent} is paused: ${data.reason}`;
    case 'agent_resumed':
      return `${data.agent} was resumed`;
    case 'agent_moved':
      return `${data.agent} moved to another node`;
    case 'reminder_set':
      return `${data.agent} will be reminded at ${localTime(data.due)}`;
    case 'agent_gated':
      return `${data.agent} was gated by ${data.by}`;
    case 'agent_ungated':
      return `${data.agent} was ungated by ${data.by}`;
    case 'run_poked':
      return `${data.agent} tries its failed turn again, poked by ${data.by}`;
    case 'question_asked':
      return `${data.agent} ${data.kind === 'approval' ? 'needs an approval' : 'asks'}: substrat inbox --open`;
    case 'question_settled':
      return `${data.agent}'s question is ${data.outcome} (${data.by})`;
    case 'evidence_checked':
      return `${data.agent}: ${data.state}: ${data.kind} ${oneLine(data.subject)} (${data.detail})`;
    case 'run_started':
      return `${data.agent} starts a turn${data.attempt > 1 ? ` (attempt ${data.attempt})` : ''}`;
    case 'run_ended':
      return data.state === 'completed'
        ? `${data.agent} finished its turn`
        : `${data.agent}'s turn ${data.state === 'failed' ? 'failed' : 'was cancelled'}: ${data.error}`;
    case 'run_progress':
      return data.progress === 'working'
        ? `${data.agent} works again`
        : `${data.agent} is ${data.progress}: ${data.reason}`;
    case 'run_retried':
      return `${data.agent} will try its turn again: ${data.error}`;
    case 'message_created':
      return describeMessage(data);
    case 'message_updated':
      return `${nameOf(data.message.from)} edited a message: ${oneLine(data.message.text)}`;
    case 'message_deleted':
      return `a message in ${place(data.channelId)} was deleted`;
    case 'reaction_added':
      return `${nameOf(data.by)} reacts with ${data.emoji}`;
    case 'reaction_removed':
      return `${nameOf(data.by)} takes back ${data.emoji}`;
    case 'channel_created':
      return `${nameOf(data.by)} created ${place(data.channelId)}`;
    case 'channel_updated':
      return `${nameOf(data.by)} set the topic of ${place(data.channelId)}: ${oneLine(data.topic)}`;
    case 'channel_deleted':
      return `${nameOf(data.by)} deleted ${place(data.channelId)}`;
    case 'member_joined':
      return `${nameOf(data.participant)} joined ${place(data.channelId)}`;
    case 'member_left':
      return `${nameOf(data.participant)} left ${place(data.channelId)}`;
    case 'member_updated':
      return `${nameOf(data.participant)} is woken in ${place(data.channelId)} by: ${data.wake}`;
    case 'memory_updated':
      return `block "${data.label}" of ${nameOf(data.owner)} changed (version ${data.version})`;
    case 'memory_deleted':
      return `block "${data.label}" of ${nameOf(data.owner)} was deleted`;
    case 'memory_shared':
      return `block "${data.label}" of ${nameOf(data.owner)} has other readers`;
    case 'passage_stored':
      return `${data.agent} stored a note`;
    case 'passage_deleted':
      return `a note of ${data.agent} was deleted`;
    case 'node_started':
      return `daemon ${data.node} started (${data.version})`;
    case 'node_stopped':
      return `daemon ${data.node} stopped`;
    case 'node_lost':
      return `daemon ${data.node} is lost; its agents cannot take turns`;
    case 'node_returned':
      return `daemon ${data.node} is back`;
    case 'node_draining':
      return `daemon ${data.node} finishes its turns and starts no new ones`;
    case 'node_undrained':
      return `daemon ${data.node} starts turns again`;
    case 'node_removed':
      return `daemon ${data.node} was removed`;
    default:
      return null;
  }
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
  const text = oneLine(message.text);
  if (message.kind === 'notice') return `Substrat: ${text}`;
  if (message.late) return `${author} answers ${others} too late: ${text}`;
  if (message.kind === 'error') return `${author} could not answer ${others}: ${text}`;
  if (message.kind === 'reply') return `${author} ${others === USER ? 'reports to' : 'answers'} ${others}: ${text}`;
  if (!message.channelId.startsWith('dm-') && !message.request) return `${author} in #${message.channelId}: ${text}`;
  return `${author} ${message.request ? 'asks' : 'tells'} ${others || message.channelId}: ${text}`;
}

function oneLine(text: string): string {
  return shorten(text.replace(/\s+/g, ' '), 160);
}

function place(channelId: string): string {
  return channelId.startsWith('dm-') ? channelId : `#${channelId}`;
}
