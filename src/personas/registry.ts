import { keyOf } from '../core/agent.ts';
import { knowledgeContext } from '../core/context.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona, PersonaInfo, PersonaPrompt } from '../core/persona.ts';
import { isTooDeep, MAX_DEPTH, shorten } from '../core/text.ts';
import { describeProblems } from '../core/validation.ts';
import { follow } from '../scripting/following.ts';
import type { ScriptLog } from '../scripting/scripting.ts';
import { Draft } from './draft.ts';
import { type Loaded, type LoadedPersona, type LoadOptions, loadPersona, type PersonaEntry } from './load.ts';
import type { Personas, PersonaUse } from './personas.ts';
import { unknownPersona } from './unknown.ts';

export interface RegistryOptions extends LoadOptions {
  /** Returns the current configuration. If it throws, the previous one stays in effect. */
  readonly read: () => { readonly entries: readonly PersonaEntry[]; readonly file: string | null };
  /** Personas of the program itself; they take precedence. */
  readonly code: readonly Persona[];
  readonly knowledge: Knowledge | undefined;
  /** Null if the set of tools is not known. */
  readonly knownTools: (() => readonly string[]) | null;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

const DEFAULT_TIMEOUT_MS = 30_000;

export async function createRegistry(options: RegistryOptions): Promise<Personas> {
  const { read, code, knowledge, knownTools, log } = options;
  const own = new Map(code.map((persona) => [keyOf(persona.name), fromCode(persona)]));
  const following = await follow({
    read,
    load: async (entry: PersonaEntry, last: Loaded | null) => {
      if (!own.has(keyOf(entry.name))) return loadPersona(entry, last, options);
      throw new SubstratError('config', `${entry.table}: a built-in persona has that name.`);
    },
    report: (problem) => log('error', problem),
  });

  const all = () => [...own.values(), ...following.states().flatMap(({ loaded }) => loaded ?? [])];
  const find = (name: string) => own.get(keyOf(name)) ?? following.get(name)?.loaded ?? null;

  const list = () => all().map(({ persona }) => infoOf(persona));

  return {
    list,
    find: (name) => {
      const found = find(name);
      return found && { ...infoOf(found.persona), path: found.path };
    },
    check: (name, args) => infoOf(usable(name, args).persona),
    resolve,
    problems: () => {
      const known = knownTools?.();
      return [
        ...(following.broken === null ? [] : [following.broken]),
        ...following.states().flatMap(({ problem }) => problem ?? []),
        ...all().flatMap(({ persona, warnings }) => [...warnings, ...unknownTools(persona, known)]),
      ];
    },
    onChange: following.onChange,
    reload: following.reload,
    watch: following.watch,
    close: following.close,
  };

  function usable(name: string, args: Readonly<Record<string, unknown>>): Loaded {
    const found = find(name);
    if (found === null) {
      const problem = following.get(name)?.problem;
      if (problem) throw new SubstratError('agent_error', `${name}: ${problem}`);
      throw unknownPersona(name, list());
    }
    const { persona } = found;
    for (const { name: wanted, required } of persona.arguments) {
      const given = Object.hasOwn(args, wanted) ? args[wanted] : null;
      if (required && (given === undefined || given === null || given === '')) {
        throw new SubstratError('bad_request', `Missing required argument "${wanted}" of ${persona.name}.`);
      }
    }
    return found;
  }

  async function resolve(
    name: string,
    args: Readonly<Record<string, unknown>>,
    use: PersonaUse = {},
  ): Promise<PersonaPrompt> {
    const { persona, timeoutMs } = usable(name, args);
    if (isTooDeep(args)) {
      throw new SubstratError('bad_request', `The arguments of ${persona.name} are nested deeper than ${MAX_DEPTH}.`);
    }
    const limit = Math.min(timeoutMs || DEFAULT_TIMEOUT_MS, use.timeoutMs ?? Number.POSITIVE_INFINITY);
    const base = use.knowledge ?? knowledge;
    const say: ScriptLog = (level, message) => log(level === 'debug' ? 'info' : level, `${persona.name}: ${message}`);
    const context = { ...knowledgeContext(base), log: say };
    const answer = persona.resolve(args, { knowledge: base, log: say, timeoutMs: limit, context });
    return toPrompt(persona, await withLimit(limit, answer, persona));
  }
}

function unknownTools(persona: PersonaInfo, known: readonly string[] | undefined): string[] {
  const unknown = persona.tools.filter((tool) => known?.includes(tool) === false);
  return unknown.map((tool) => `${persona.name}: there is no tool "${shorten(tool)}".`);
}

function fromCode(persona: Persona): Loaded {
  const resolve: LoadedPersona['resolve'] = async (args, { context }) => persona.resolve(args, context);
  return { persona: { ...persona, resolve }, timeoutMs: DEFAULT_TIMEOUT_MS, path: null, version: '', warnings: [] };
}

function infoOf({ name, description, tools, source, arguments: declared }: PersonaInfo): PersonaInfo {
  return { name, description, tools, source, arguments: declared };
}

/** Scripts are stopped at their limit; code of the program cannot be stopped, only abandoned. */
async function withLimit(limit: number, answer: Promise<unknown>, { name, source }: PersonaInfo): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    if (source !== 'ts') return;
    const error = new SubstratError('timeout', `${name} timed out after ${limit / 1_000} s.`);
    timer = setTimeout(() => reject(error), limit);
  });
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'timeout') throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new SubstratError('agent_error', `${name}: ${shorten(message, 2_000)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function toPrompt({ name, tools }: PersonaInfo, given: unknown): PersonaPrompt {
  const parsed = Draft.safeParse(given);
  if (!parsed.success) {
    throw new SubstratError(
      'agent_error',
      `${name}: resolve did not return a valid prompt: ${describeProblems(parsed.error)}.`,
    );
  }
  const { system, messages } = parsed.data;
  return { system, tools: parsed.data.tools ?? tools, messages };
}
