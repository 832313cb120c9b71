import type { CarriedMessage, JournalEntry } from './run.ts';

/** The single line on a scripted agent's stdin: written by the provider `scripted`, read by `substrat/scripted`. */
export interface ScriptedTurn {
  readonly runId: string;
  readonly agentId: string;
  readonly name: string;
  readonly instructions: string;
  readonly prompt: string;
  /** The session that an earlier turn set with a `session` event. */
  readonly session: string | null;
  readonly messages: readonly CarriedMessage[];
  /** What an earlier, failed attempt of the same run had already done. */
  readonly journal: readonly JournalEntry[];
  /** Path of a file with `mcpServers.substrat`, the MCP server of this agent's tools. */
  readonly mcpConfig: string;
}
