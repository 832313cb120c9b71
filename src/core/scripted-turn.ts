import type { CarriedMessage, JournalEntry } from './run.ts';

/** The one line on a scripted agent's stdin: what the provider `scripted` writes and `substrat/scripted` reads. */
export interface ScriptedTurn {
  readonly runId: string;
  readonly agentId: string;
  readonly name: string;
  readonly instructions: string;
  readonly prompt: string;
  /** What an earlier turn set by a `session` event. */
  readonly session: string | null;
  readonly messages: readonly CarriedMessage[];
  /** What a broken attempt of the same run had already done. */
  readonly journal: readonly JournalEntry[];
  /** Path of a file with `mcpServers.substrat`: the server of this agent's tools. */
  readonly mcpConfig: string;
}
