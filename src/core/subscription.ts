import type { AgentState } from './agent.ts';
import { SubstratError } from './errors.ts';
import type { AgentId, MessageId, ParticipantId } from './ids.ts';
import { shorten } from './text.ts';

/** An agent wants to be told when the state of another one changes. */
export interface Subscription extends Transition {
  readonly id: string;
  readonly agentId: AgentId;
  /** The agent whose state it is about. */
  readonly subjectId: AgentId;
  /** It ends with its first notice. */
  readonly once: boolean;
  /** Of the run that subscribed. */
  readonly chainDepth: number;
  readonly payerId: ParticipantId | null;
  /** The last notice. */
  readonly messageId: MessageId | null;
  readonly createdAt: number;
}

export interface Transition {
  readonly fromState: AgentState | '*';
  readonly toState: AgentState | '*';
}

const STATES = ['idle', 'busy', 'waiting', 'terminated', '*'] as const;

/** Reads `busy->idle`; either side may be `*`. */
export function readTransition(text: string): Transition {
  const [from, to, ...more] = text.split('->').map((side) => STATES.find((state) => state === side.trim()));
  if (!from || !to || more.length > 0 || from === 'terminated' || (from === to && from !== '*')) {
    throw new SubstratError(
      'bad_request',
      `"${shorten(text)}" is not a transition. Use "busy->idle": two of idle, busy, waiting, terminated; "*" is any.`,
    );
  }
  return { fromState: from, toState: to };
}

export function isAbout({ fromState, toState }: Transition, from: AgentState, to: AgentState): boolean {
  return (fromState === '*' || fromState === from) && (toState === '*' || toState === to);
}
