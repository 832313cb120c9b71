import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { PassageMeaning } from '../core/memory.ts';
import type { PersonaChoice, PersonaInfo } from '../core/persona.ts';
import type { Policy } from '../core/policy.ts';
import type { Run } from '../core/run.ts';
import { MAX_TEXT } from '../core/text.ts';
import type { Workspace } from '../core/workspace.ts';
import type { MessagingRules } from '../messaging/send.ts';
import type { TreeLimits } from '../messaging/tree.ts';
import type { ActiveAttempt } from '../runs/attempt.ts';
import type { Store, Tx } from '../store/store.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import type { Annotations } from './annotations.ts';
import type { CustomTool } from './custom.ts';
import type { Refers } from './references.ts';

/** What every tool may use in addition to its input. */
export interface ToolSettings {
  readonly rules: MessagingRules;
  readonly limits: TreeLimits;
  /** Which calls agents may make. */
  readonly policies: readonly Policy[];
  readonly nodeId: string;
  /** For children of an external agent, which cannot inherit its provider. */
  readonly defaultProvider: string | null;
  readonly workspaces: WorkspaceRules;
  readonly knowledge: Knowledge;
  /** Null where embeddings are disabled. */
  readonly passageMeaning: PassageMeaning | null;
  /** The script tools of the configuration, in their current version. */
  customTools(): Promise<readonly CustomTool[]>;
  /** Called after the result of `customTools` has changed, until the returned function is called. */
  onCustomToolsChange(listener: () => void): () => void;
  /** Throws if the persona does not exist or lacks an argument. */
  findPersona(choice: PersonaChoice): Promise<PersonaInfo>;
  /** Throws if its provider, or one of its `fallback`, cannot enforce the agent's policies for its program's own tools. */
  checkEnforced(tx: Pick<Tx, 'agents'>, agent: Agent): Promise<void>;
  /** Throws if an agent would have more tools than its provider's program accepts. */
  checkTools(agent: Pick<Agent, 'provider' | 'workspace' | 'tools'>, custom: readonly CustomTool[]): Promise<void>;
}

/** What a tool may use before its transaction. */
export interface Preparation {
  readonly agent: Agent;
  readonly store: Store;
  readonly settings: ToolSettings;
}

/** Undoes what was prepared. */
type Undo = () => Promise<void>;

/** The caller, bound by the daemon when the connection was made; never taken from the arguments. */
export interface ToolContext {
  readonly tx: Tx;
  readonly agent: Agent;
  readonly run: Run;
  readonly attempt: ActiveAttempt;
  readonly settings: ToolSettings;
  readonly now: number;
  /** The requests that `check_inbox` returned to this connection of an external agent and that it has not answered. */
  readonly given: readonly string[];
}

export interface Terminated {
  readonly agents: readonly Agent[];
  /** Runs whose processes must be killed. */
  readonly fenced: readonly string[];
}

export interface ToolOutcome {
  readonly result: Readonly<Record<string, unknown>>;
  /** It answered a request, so it is exempt from the rate limit. Only a tool with `mayReply` may set it. */
  readonly reply?: boolean;
  /** Requests that the caller's connection holds from now on, and one that it no longer holds. */
  readonly given?: readonly string[];
  readonly settled?: string;
  /** A message with evidence. */
  readonly claimed?: true;
  /** A newly created agent. */
  readonly created?: Agent;
  /** Agents that were terminated: their processes and sockets follow. */
  readonly terminated?: Terminated;
  /** A workspace that was created or deleted: its directory follows. */
  readonly workspace?: Workspace;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** For external agents, if it differs. */
  readonly externalDescription?: string;
  readonly input: z.ZodObject;
  /** What its arguments refer to, for policies; without it, they are taken as written. */
  readonly refers?: Refers;
  /** It has a side effect, so a repeated attempt gets its recorded result. */
  readonly effect: boolean;
  /** Where they do not follow from `effect`. */
  readonly annotations?: Partial<Annotations>;
  /**
   * Its outcome may be the reply to a request. Such a call runs before the rate limit is applied, because replies are
   * exempt.
   */
  readonly mayReply?: true;
  /** Work outside the store before the transaction; must be idempotent. */
  prepare?(preparation: Preparation, input: never): Promise<Undo | undefined>;
  /** Slow reads before the transaction, so that other writers do not wait. `run` gets the result. */
  look?(preparation: Preparation, input: never): Promise<unknown>;
  /** Runs inside the transaction: may be executed more than once, and must only change state through `tx`. */
  run(context: ToolContext & { readonly looked: never }, input: never): Promise<ToolOutcome>;
}

/** The description that an agent sees. */
export function descriptionFor(
  tool: Pick<Tool, 'description' | 'externalDescription'>,
  { external }: Pick<Attempt, 'external'>,
): string {
  return (external ? tool.externalDescription : undefined) ?? tool.description;
}

/** Binds a tool's functions to the type of its input. */
export function defineTool<I extends z.ZodObject, L = undefined>(tool: {
  readonly name: string;
  readonly description: string;
  readonly externalDescription?: string;
  readonly input: I;
  readonly refers?: Refers;
  readonly effect: boolean;
  readonly annotations?: Partial<Annotations>;
  readonly mayReply?: true;
  prepare?(preparation: Preparation, input: z.infer<I>): Promise<Undo | undefined>;
  look?(preparation: Preparation, input: z.infer<I>): Promise<L>;
  run(context: ToolContext & { readonly looked: L }, input: z.infer<I>): Promise<ToolOutcome>;
}): Tool {
  return tool;
}

const NO_NUL = 'must not be empty or contain NUL characters';

/** A text that a message can hold. A single pattern, so that the published schema is exactly what is enforced. */
export function textField(description: string): z.ZodString {
  return (
    z
      .string()
      // Aborts the other checks: a pattern takes long on eight million characters.
      .max(MAX_TEXT, { error: `must have at most ${MAX_TEXT} characters`, abort: true })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is meant, in the one form that every engine reads.
      .regex(/^\s*[^\s\x00][^\x00]*$/, NO_NUL)
      .describe(description)
  );
}

/** A date or a time in ISO 8601. */
export function timeField(description: string): z.ZodString {
  return z
    .string()
    .regex(
      /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/,
      'must be a date or a time such as 2026-01-31 or 2026-01-31T12:00:00Z',
    )
    .describe(description);
}

/** A name or an id to look up. */
export function referenceField(description: string): z.ZodString {
  return (
    z
      .string()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
      .regex(/^[^\x00]+$/, NO_NUL)
      .describe(description)
  );
}
