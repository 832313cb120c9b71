import type { Config } from '../config/config.ts';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona } from '../core/persona.ts';
import { describeProblems } from '../core/validation.ts';
import { openScript, type ReadScript, shownPath } from '../scripting/open.ts';
import type { Scripting, ScriptLog } from '../scripting/scripting.ts';
import { Declaration } from './draft.ts';
import { importText } from './module-text.ts';

export type PersonaEntry = Config['agents'][number];
type FileEntry = Exclude<PersonaEntry, { kind: 'toml' }>;

/** A loaded persona and its origin. */
export interface Loaded {
  readonly persona: LoadedPersona;
  readonly timeoutMs: number;
  /** The file of a script or a module; null for a text of the configuration. */
  readonly path: string | null;
  /** The persona is loaded again when this changes. */
  readonly version: string;
  readonly warnings: readonly string[];
}

/** Scripts get the knowledge base itself, because their calls come from another thread. */
export type LoadedPersona = Omit<Persona, 'resolve'> & {
  resolve(args: Readonly<Record<string, unknown>>, use: Use): Promise<unknown>;
};

export interface Use {
  readonly knowledge: Knowledge | undefined;
  readonly log: ScriptLog;
  readonly timeoutMs: number;
  readonly context: Parameters<Persona['resolve']>[1];
}

export interface LoadOptions {
  readonly scripting: Scripting;
  readonly env: Environment;
  readonly readScript: ReadScript;
}

/** A script's own limit applies to its calls, not to the start of a thread. */
const LOAD_MS = 10_000;

/** Returns `last` if nothing has changed. Throws if the file cannot be used. */
export async function loadPersona(entry: PersonaEntry, last: Loaded | null, options: LoadOptions): Promise<Loaded> {
  if (entry.kind === 'toml') return loadText(entry, last);
  const text = await options.readScript(entry.path);
  const version = JSON.stringify([entry, text]);
  if (last?.version === version) return last;
  return entry.kind === 'lua' ? loadScript(entry, version, options) : loadModule(entry, text, version);
}

function loadText(entry: Extract<PersonaEntry, { kind: 'toml' }>, last: Loaded | null): Loaded {
  const version = JSON.stringify(entry);
  if (last?.version === version) return last;
  const { name, description, tools, system } = entry;
  const persona: LoadedPersona = {
    name,
    description,
    tools,
    source: 'toml',
    arguments: [],
    resolve: async () => ({ system }),
  };
  return { persona, timeoutMs: 0, path: null, version, warnings: [] };
}

async function loadScript(
  entry: Extract<PersonaEntry, { kind: 'lua' }>,
  version: string,
  options: LoadOptions,
): Promise<Loaded> {
  const { scripting } = options;
  const { path, timeoutMs, config } = entry;
  const script = await openScript(entry, 'agent', options);
  const declared = (await scripting.run({ ...script, timeoutMs: LOAD_MS }, null)) as {
    functions?: { resolve?: boolean };
  };
  if (!declared.functions?.resolve) throw wrong(entry, 'the script does not define the function agent.resolve');
  const { persona, warnings } = declare(entry, declared, 'lua', async (args, use) =>
    scripting.run(
      { ...script, timeoutMs: use.timeoutMs },
      { method: 'resolve', args: [args, config], context: { config }, knowledge: use.knowledge, log: use.log },
    ),
  );
  return { persona, timeoutMs, path, version, warnings };
}

async function loadModule(
  entry: Extract<PersonaEntry, { kind: 'ts' }>,
  text: string,
  version: string,
): Promise<Loaded> {
  const { path, timeoutMs } = entry;
  const { default: given } = (await importText(path, text)) as { default?: Partial<Persona> };
  if (typeof given?.resolve !== 'function') {
    throw wrong(entry, 'its default export must be a persona: export default definePersona({ … })');
  }
  const resolve = given.resolve.bind(given) as Persona['resolve'];
  const { persona, warnings } = declare(entry, given, 'ts', async (args, use) => resolve(args, use.context));
  return { persona, timeoutMs, path, version, warnings };
}

function declare(
  entry: FileEntry,
  given: object,
  source: 'lua' | 'ts',
  resolve: LoadedPersona['resolve'],
): { persona: LoadedPersona; warnings: string[] } {
  const parsed = Declaration.safeParse(given);
  if (!parsed.success) throw wrong(entry, describeProblems(parsed.error));
  const { name, description, tools, arguments: declared } = parsed.data;
  const other = name !== undefined && name !== entry.name;
  return {
    persona: { name: entry.name, description, tools, source, arguments: declared, resolve },
    warnings: other ? [`${entry.table}: its file names it "${name}"; it is used as "${entry.name}".`] : [],
  };
}

function wrong(entry: FileEntry, problem: string): SubstratError {
  return new SubstratError('config', `${shownPath(entry.path)}: ${problem} (${entry.table})`);
}
