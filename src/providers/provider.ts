import type { BoundTool } from '../core/bound-tool.ts';
import type { AdmitRequest, Command, ModelAnswer, Needs } from '../core/command.ts';
import type { Conversation } from '../core/conversation.ts';
import type { FailureKind } from '../core/failure.ts';
import type { Guard } from '../core/guard.ts';
import type { OwnKind } from '../core/own-tool.ts';
import type { CarriedMessage, JournalEntry } from '../core/run.ts';
import type { Description } from './description.ts';
import type { Spawner } from './spawner.ts';

/** The events of a turn. A stream ends with exactly one `done` or `error`, whatever the program did. */
export type ProviderEvent =
  | { readonly type: 'session'; readonly session: string }
  /** The program cannot resume this conversation: the next turn starts a new one with the journal. */
  | { readonly type: 'forgets' }
  /** A piece of a text being written. Never stored: the whole text follows, or the turn is interrupted. */
  | { readonly type: 'delta'; readonly text: string }
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call';
      readonly id: string;
      readonly name: string;
      readonly arguments: unknown;
      /** A call of one of Substrat's tools that reached the daemon, which records it itself (`runs/told.ts`). */
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
      /** Set if it is not the agent's model: a turn may use several. */
      readonly model?: string;
      /** The daemon counted it itself; otherwise it is the program's word. */
      readonly metered?: true;
    }
  /** `max_steps`: the program ended the turn because it reached its step limit. */
  | { readonly type: 'done'; readonly text: string; readonly stopReason?: 'max_steps' }
  | {
      readonly type: 'error';
      readonly kind: FailureKind;
      readonly message: string;
      /** Set if the provider said how long to wait. */
      readonly retryAfterMs?: number;
      /** The limit is a quota that is used up, not one that passes soon. */
      readonly exhausted?: true;
      /** The daemon saw the limit itself; otherwise it is the program's word. */
      readonly metered?: true;
    };

/** One turn of one agent, independent of how it is executed. */
export interface Turn {
  readonly runId: string;
  readonly agentId: string;
  readonly name: string;
  readonly model: string | null;
  readonly workspace: string;
  /** The system prompt: instructions and guidance. */
  readonly instructions: string;
  readonly prompt: string;
  readonly session: string | null;
  readonly messages: readonly CarriedMessage[];
  readonly journal: readonly JournalEntry[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The agent's tools, for a provider that runs in this process. Calls act for this turn and are recorded. */
  readonly tools: () => Promise<readonly BoundTool[]>;
  /** Must be asked before each call of a tool of the program's own; null if all are allowed. */
  readonly guard: Guard | null;
  /** Stores the messages of a provider that runs in this process and has nothing else to store them in. */
  readonly conversation: Conversation;
  /** For a provider that inserts messages into a running turn (`about.steers`). */
  readonly news: News;
  /** Must be asked before each request to a model that the daemon sends or passes on. Null: a budget does not allow it, and the turn ends. */
  readonly admit: AdmitRequest;
  /** Takes what the daemon counted itself in the answers of the model's service, at any time until the turn ends. */
  readonly meter: (answer: Pick<ModelAnswer, 'model' | 'inputTokens' | 'outputTokens'>) => void;
  /** For a provider that starts a program. */
  readonly launch: Launch;
}

/** The messages that arrive for the agent during its turn. */
export interface News {
  /** Waits for the next ones; null when the turn is over. Each message is given once, here or by `check_inbox`. */
  next(): Promise<Arrived | null>;
}

export interface Arrived {
  /** As it would be in a prompt. */
  readonly text: string;
  /** The program has it. Without this, its messages wait for the next turn. */
  taken(): void;
}

/** What a turn that runs as a process needs. */
export interface Launch {
  /** The agent's own program, for providers that run one. */
  readonly program: string | null;
  /** The agent's home, which is `HOME` inside a sandbox. */
  readonly home: string;
  /** Path of the agent's `mcp.json`. */
  readonly mcpConfig: string;
  /** The number of tools in it. */
  readonly countTools: () => Promise<number>;
  /** Wraps the command for the sandbox, with what the provider needs in it. */
  readonly confine: (command: Command, needs?: Needs) => Promise<Command>;
  /** Called with the process group before the program gets its first input; a rejection ends the turn. */
  readonly onSpawn: (group: { readonly pid: number; readonly startedAt: string }) => Promise<void>;
  /** Starts programs in place of this process, where it can. */
  readonly spawner?: Spawner;
}

/** Executes turns. Never throws for a failure of the program or its model: the stream ends with an error event. */
export interface Provider {
  readonly about: Description;
  /** What its program does with tools of its own without asking `turn.guard`. Missing: nothing. */
  readonly unjudged?: readonly OwnKind[];
  /** The number of tools that a workspace adds, as far as it is known without starting anything. */
  otherTools?(workspace: string): number;
  runTurn(turn: Turn): AsyncIterable<ProviderEvent>;
}
