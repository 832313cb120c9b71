import type { AgentId, MessageId, ParticipantId, TokenId } from './ids.ts';

export const OUTCOMES = ['approved', 'rejected', 'revised', 'answered', 'expired', 'cancelled'] as const;
/** How a question ended. An approval ends as approved, rejected or revised; `revised` approves other arguments. */
export type Outcome = (typeof OUTCOMES)[number];

export const QUESTION_KINDS = ['question', 'approval'] as const;
export type QuestionKind = (typeof QUESTION_KINDS)[number];

/** Arguments of a call. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * Something that a person decides for an agent: a request to a person with a typed body. It is open until it has an outcome. While
 * it is open, no other question of the agent has its digest.
 */
export interface Question {
  /** The id of its request. */
  readonly id: MessageId;
  readonly agentId: AgentId;
  readonly treeId: AgentId;
  readonly kind: QuestionKind;
  /** The question; for an approval, Substrat's words about the call. */
  readonly subject: string;
  /** What the agent says about it. */
  readonly details: string | null;
  /** Suggested answers. A person may always answer in other words. */
  readonly options: readonly string[];
  /** For an approval: the tool, and its arguments. */
  readonly tool: string | null;
  readonly args: Arguments | null;
  readonly digest: string;
  /** The agent cannot go on without the answer. */
  readonly blocking: boolean;
  /** Who may answer, in addition to the owner. */
  readonly answerers: readonly ParticipantId[];
  readonly createdAt: number;
  readonly outcome: Outcome | null;
  /** The person's words. */
  readonly note: string | null;
  /** For `revised`: the arguments that the person approved. */
  readonly revisedArgs: Arguments | null;
  readonly settledBy: ParticipantId | null;
  /** The token that the answer came with; null for the owner's own. */
  readonly settledWith: TokenId | null;
  readonly settledAt: number | null;
  /** The call that the outcome permits, once: its digest, until when, and when it was made. */
  readonly grantDigest: string | null;
  readonly grantUntil: number | null;
  readonly usedAt: number | null;
  /** When the next push to the targets that are not in `told` is due; null: never. */
  readonly tellAt: number | null;
  readonly told: readonly string[];
}

/** The part of a question that is the same for each that has just been asked. */
export const UNSETTLED = {
  outcome: null,
  note: null,
  revisedArgs: null,
  settledBy: null,
  settledWith: null,
  settledAt: null,
  grantDigest: null,
  grantUntil: null,
  usedAt: null,
  told: [],
} as const satisfies Partial<Question>;

/** How and by whom a question is closed. */
export interface Settlement extends Pick<Question, 'note' | 'settledBy' | 'settledWith' | 'revisedArgs'> {
  readonly outcome: Outcome;
  readonly grantDigest: string | null;
  readonly grantUntil: number | null;
}

/** A settlement without words, arguments or a grant. */
export function settled(outcome: Outcome, rest: Partial<Settlement> = {}): Settlement {
  const none = { note: null, settledBy: null, settledWith: null, revisedArgs: null };
  return { ...none, grantDigest: null, grantUntil: null, ...rest, outcome };
}
