import type { Knowledge } from '../core/knowledge.ts';
import type {
  Persona,
  PersonaArgument,
  PersonaContext,
  PersonaDraft,
  PersonaInfo,
  PersonaPrompt,
} from '../core/persona.ts';

/** Every persona there is, by name. */
export interface Personas {
  list(): readonly PersonaInfo[];
  /** Returns null if there is no persona with that name. `path` is its file. */
  find(name: string): (PersonaInfo & { readonly path: string | null }) | null;
  /** The checks that `resolve` starts with; throws the same errors for an unknown persona or missing arguments. */
  check(name: string, args: Readonly<Record<string, unknown>>): PersonaInfo;
  /** Throws `not_found`, `bad_request` for a missing argument, `agent_error`, `timeout`. */
  resolve(name: string, args: Readonly<Record<string, unknown>>, use?: PersonaUse): Promise<PersonaPrompt>;
  /** Current problems, one sentence each: scripts that do not load, tools that do not exist. */
  problems(): readonly string[];
  /** Called after the results of `list` or `resolve` have changed. */
  onChange(listener: () => void): () => void;
  /** Reads changed files again. A broken file keeps its last good version. */
  reload(): Promise<void>;
  /** Starts reloading automatically when a file changes. */
  watch(): void;
  close(): void;
}

export interface PersonaUse {
  /** Replaces the registry's own knowledge base. */
  readonly knowledge?: Knowledge | undefined;
  readonly timeoutMs?: number | undefined;
}

interface Definition<Name extends string> {
  readonly name: string;
  readonly description: string;
  readonly tools?: readonly string[];
  readonly arguments?: readonly (Omit<PersonaArgument, 'name' | 'required'> & {
    readonly name: Name;
    readonly required?: boolean;
  })[];
  resolve(args: Readonly<Partial<Record<Name, string>>>, context: PersonaContext): PersonaDraft | Promise<PersonaDraft>;
}

/**
 * A persona in code, for a module of the configuration or for the library. The names of its arguments type its
 * `args`.
 */
export function definePersona<const Name extends string = never>(definition: Definition<Name>): Persona {
  const { name, description, tools = [], arguments: declared = [] } = definition;
  return {
    name,
    description,
    tools,
    source: 'ts',
    arguments: declared.map((argument) => ({ required: false, ...argument })),
    resolve: async (args, context) => definition.resolve(args as Partial<Record<Name, string>>, context),
  };
}
