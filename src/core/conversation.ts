import type { AgentId, RunId } from './ids.ts';

/**
 * One message of an agent's conversation with a model. Every call of a tool in an `assistant` entry gets a `tool` entry
 * before the model is asked again. Entries are never changed: a `summary` replaces those up to `covers` in the prompt.
 */
export interface ConversationEntry {
  readonly session: string;
  /** From 1, in order. */
  readonly n: number;
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly role: ConversationRole;
  /** The provider's own form, as JSON. */
  readonly content: unknown;
  /** For a summary: the number of the last entry that it replaces. */
  readonly covers: number | null;
  /** Of the model call that made an `assistant` or `summary` entry. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly createdAt: number;
}

export type ConversationRole = 'user' | 'assistant' | 'tool' | 'summary';

export type NewEntry = Pick<ConversationEntry, 'role' | 'content'> &
  Partial<Pick<ConversationEntry, 'covers' | 'inputTokens' | 'outputTokens'>>;

/** What the record of a run knows of a call: its result, or that it began. */
export type RecordedCall = { readonly result: unknown; readonly isError: boolean } | 'begun';

/** The conversation of a turn. Writes carry the attempt's fence. */
export interface Conversation {
  /** The last summary, if there is one, and what follows the entries that it replaces. */
  load(session: string): Promise<readonly ConversationEntry[]>;
  append(session: string, entries: readonly NewEntry[]): Promise<readonly ConversationEntry[]>;
  /** The bytes of an attached file, in base64; null if it was deleted. */
  readFile(hash: string): Promise<string | null>;
  /** A call of one of Substrat's tools that an interrupted attempt made; null if it left no record. */
  findCall(runId: string, callId: string): Promise<RecordedCall | null>;
}
