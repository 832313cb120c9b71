import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { PersonaChoice, PersonaInfo } from '../core/persona.ts';
import type { Run } from '../core/run.ts';
import { MAX_TEXT } from '../core/text.ts';
import type { Workspace } from '../core/workspace.ts';
import type { MessagingRules } from '../messaging/send.ts';
import type { TreeLimits } from '../messaging/tree.ts';
import type { Attempt } from '../runs/attempt.ts';
import type { Store, Tx } from '../store/store.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import type { CustomTool } from './custom.ts';

/** What every tool may use beside its input. */
export interface ToolSettings {
  readonly rules: MessagingRules;
  readonly limits: TreeLimits;
  readonly nodeId: string;
  /** For children of an external agent, which cannot inherit its provider. */
  readonly defaultProvider: string | null;
  readonly workspaces: WorkspaceRules;
  readonly knowledge: Knowledge;
  /** The scripts of the configuration that are tools, as they are now. */
  customTools(): Promise<readonly CustomTool[]>;
  /** Called after a change of what `customTools` answers, until the function that it returns is called. */
  onCustomToolsChange(listener: () => void): () => void;
  /** Throws where there is no such persona, or it lacks an argument. */
  findPersona(choice: PersonaChoice): Promise<PersonaInfo>;
  /** Throws where an agent would have more tools than its provider's program takes. */
  checkTools(agent: Pick<Agent, 'provider' | 'workspace' | 'tools'>, custom: readonly CustomTool[]): Promise<void>;
}

/** What a tool may use before its transaction. */
export interface Preparation {
  readonly agent: Agent;
  readonly store: Store;
  readonly settings: ToolSettings;
}

/** How to undo what was prepared. */
type Undo = () => Promise<void>;

/** Who calls, bound by the daemon when the connection was made; nothing of it comes from the arguments. */
export interface ToolContext {
  readonly tx: Tx;
  readonly agent: Agent;
  readonly run: Run;
  readonly attempt: Attempt;
  readonly settings: ToolSettings;
  readonly now: number;
  /** The requests that `check_inbox` gave to this connection of an external agent and that it has not answered. */
  readonly given: readonly string[];
}

export interface ToolOutcome {
  readonly result: Readonly<Record<string, unknown>>;
  /** It answered a request: exempt from the rate limit. Only a tool with `mayReply` may set it. */
  readonly reply?: boolean;
  /** Requests that the caller's connection holds from now on, and one that it no longer does. */
  readonly given?: readonly string[];
  readonly settled?: string;
  /** An agent that came to be. */
  readonly created?: Agent;
  /** A workspace that came to be or was deleted: its directory follows. */
  readonly workspace?: Workspace;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** For agents that somebody else runs, where it differs. */
  readonly externalDescription?: string;
  readonly input: z.ZodObject;
  /** It changes something, so a repeated attempt gets its recorded result. */
  readonly effect: boolean;
  /** Its outcome may be the reply to a request. Such a call runs before the rate limit is applied, because replies are exempt. */
  readonly mayReply?: true;
  /** What must be done or looked at outside the store, before the transaction; it must bear to be done twice. */
  prepare?(preparation: Preparation, input: never): Promise<Undo | undefined>;
  /** What takes long to read, before the transaction too: other writers do not wait for it. `run` gets it. */
  look?(preparation: Preparation, input: never): Promise<unknown>;
  /** Inside the transaction: may be executed more than once, and changes nothing but through `tx`. */
  run(context: ToolContext & { readonly looked: never }, input: never): Promise<ToolOutcome>;
}

/** What an agent is told of a tool. */
export function descriptionFor(
  tool: Pick<Tool, 'description' | 'externalDescription'>,
  { external }: Pick<Attempt, 'external'>,
): string {
  return (external ? tool.externalDescription : undefined) ?? tool.description;
}

/** Ties a tool's functions to the type of its input. */
export function defineTool<I extends z.ZodObject, L = undefined>(tool: {
  readonly name: string;
  readonly description: string;
  readonly externalDescription?: string;
  readonly input: I;
  readonly effect: boolean;
  readonly mayReply?: true;
  prepare?(preparation: Preparation, input: z.infer<I>): Promise<Undo | undefined>;
  look?(preparation: Preparation, input: z.infer<I>): Promise<L>;
  run(context: ToolContext & { readonly looked: L }, input: z.infer<I>): Promise<ToolOutcome>;
}): Tool {
  return tool;
}

const NO_NUL = 'must not be empty, nor contain NUL characters';

/** A text that a message can hold. One pattern says it, so that the published schema is what is enforced. */
export function textField(description: string): z.ZodString {
  return (
    z
      .string()
      // The rest is not looked at then: a pattern takes its time with eight million characters.
      .max(MAX_TEXT, { error: `must have at most ${MAX_TEXT} characters`, abort: true })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is meant, in the one form that every engine reads.
      .regex(/^\s*[^\s\x00][^\x00]*$/, NO_NUL)
      .describe(description)
  );
}

/** A name or an id to be looked up. */
export function referenceField(description: string): z.ZodString {
  return (
    z
      .string()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
      .regex(/^[^\x00]+$/, NO_NUL)
      .describe(description)
  );
}
