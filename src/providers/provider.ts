import type { BoundTool } from '../core/bound-tool.ts';
import type { Command, Needs } from '../core/command.ts';
import type { FailureKind } from '../core/failure.ts';
import type { CarriedMessage, JournalEntry } from '../core/run.ts';
import type { Description } from './description.ts';

/** What a turn tells while it runs. A stream ends with exactly one `done` or `error`, whatever the program did. */
export type ProviderEvent =
  | { readonly type: 'session'; readonly session: string }
  /** A piece of a text that is being written. It is never stored: the whole text follows, or the turn breaks off. */
  | { readonly type: 'delta'; readonly text: string }
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call';
      readonly id: string;
      readonly name: string;
      readonly arguments: unknown;
      /** A tool of Substrat's, and the call reached the daemon, which records it itself (`runs/told.ts`). */
      readonly ours?: true;
    }
  | {
      readonly type: 'tool_result';
      readonly id: string;
      readonly result: unknown;
      readonly isError: boolean;
      readonly ours?: true;
    }
  | {
      readonly type: 'usage';
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly costUsd?: number;
      /** Where it is not the agent's: a turn may use several. */
      readonly model?: string;
    }
  /** `max_steps`: the program ended the turn because it had taken as many steps as it may. */
  | { readonly type: 'done'; readonly text: string; readonly stopReason?: 'max_steps' }
  | {
      readonly type: 'error';
      readonly kind: FailureKind;
      readonly message: string;
      /** When the provider said how long to wait. */
      readonly retryAfterMs?: number;
    };

/** One turn of one agent: what it is, however it is executed. */
export interface Turn {
  readonly runId: string;
  readonly agentId: string;
  readonly name: string;
  readonly model: string | null;
  readonly workspace: string;
  /** System prompt: instructions and guidance. */
  readonly instructions: string;
  readonly prompt: string;
  readonly session: string | null;
  readonly messages: readonly CarriedMessage[];
  readonly journal: readonly JournalEntry[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The agent's tools, for a provider that runs in this process. Their calls act for this turn and record themselves. */
  readonly tools: () => Promise<readonly BoundTool[]>;
  /** For a provider that starts a program. */
  readonly launch: Launch;
}

/** What a turn needs that is a process. */
export interface Launch {
  /** The agent's own program, for providers that run one. */
  readonly program: string | null;
  /** The agent's own, which is `HOME` inside a sandbox. */
  readonly home: string;
  /** Path of the agent's `mcp.json`. */
  readonly mcpConfig: string;
  /** How many tools it finds there. */
  readonly countTools: () => Promise<number>;
  /** Wraps the command for the sandbox, with what the provider needs in it. */
  readonly confine: (command: Command, needs?: Needs) => Promise<Command>;
  /** Called with the process group before the program gets its first input; a rejection ends the turn. */
  readonly onSpawn: (group: { readonly pid: number; readonly startedAt: string }) => Promise<void>;
}

/** What executes a turn. It never throws for a failure of the program or its model: the stream says so. */
export interface Provider {
  readonly about: Description;
  /** How many of those come from elsewhere in a workspace, as far as that is known without starting anything. */
  otherTools?(workspace: string): number;
  runTurn(turn: Turn): AsyncIterable<ProviderEvent>;
}
