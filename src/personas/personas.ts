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
  /** Null when there is none of that name. `path` is its file. */
  find(name: string): (PersonaInfo & { readonly path: string | null }) | null;
  /** What `resolve` would begin with; throws as it would for what is not there. */
  check(name: string, args: Readonly<Record<string, unknown>>): PersonaInfo;
  /** Throws `not_found`, `bad_request` for a missing argument, `agent_error`, `timeout`. */
  resolve(name: string, args: Readonly<Record<string, unknown>>, use?: PersonaUse): Promise<PersonaPrompt>;
  /** What is wrong now, one sentence each: scripts that do not load, tools that do not exist. */
  problems(): readonly string[];
  /** Called after a change of what `list` or `resolve` answers. */
  onChange(listener: () => void): () => void;
  /** Reads again whatever has changed; what is broken keeps its last good version. */
  reload(): Promise<void>;
  /** Reloads by itself from now on when a file changes. */
  watch(): void;
  close(): void;
}

export interface PersonaUse {
  /** In the place of the one that the registry was made with. */
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

/** A persona in code, for a module of the configuration or for the library. The names of its arguments type its `args`. */
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
