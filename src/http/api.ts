import type { AgentRow, Store } from '../store/store.ts';

/** What the API needs of the daemon. */
export interface Api {
  readonly store: Store;
  readonly clock: () => number;
  readonly version: string;
  readonly sandboxMode: string;
  readonly home: { readonly path: string; mcpConfig(agentId: string): string };
  readonly tools: { readonly settings: { readonly rules: { readonly requestDeadlineMs: number } } };
  addAgent(wish: AgentWish): Promise<AgentRow>;
  terminateAgent(agentId: string, reason: string): Promise<void>;
  cancelRun(runId: string, reason: string): Promise<void>;
  readonly log: { error(details: object, message: string): void };
}

/** What a person, or the configuration, says about an agent; null is "not said". */
export interface AgentWish {
  readonly name: string;
  readonly parent: string | null;
  readonly role: string | null;
  readonly instructions: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly program: string | null;
  readonly workspace: string | null;
  readonly tools: readonly string[] | null;
}
