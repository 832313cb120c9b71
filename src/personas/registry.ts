import { keyOf, shorten } from '../core/agent.ts';
import { knowledgeContext } from '../core/context.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Persona, PersonaInfo, PersonaPrompt } from '../core/persona.ts';
import type { ScriptLog } from '../scripting/scripting.ts';
import { Draft, problemsOf } from './draft.ts';
import { type Loaded, type LoadedPersona, type LoadOptions, loadPersona, type PersonaEntry } from './load.ts';
import type { Personas, PersonaUse } from './personas.ts';
import { watchFiles } from './watch.ts';

export interface RegistryOptions extends LoadOptions {
  /** The configuration as it is now; it may throw, and then what was read before stays. */
  readonly read: () => { readonly entries: readonly PersonaEntry[]; readonly file: string | null };
  /** Personas of the program itself. */
  readonly code: readonly Persona[];
  readonly knowledge: Knowledge | undefined;
  /** Null where nobody knows every tool. */
  readonly knownTools: (() => readonly string[]) | null;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** A persona by its name: loaded, or the reason why it never was. */
type Entry =
  | { readonly loaded: Loaded; readonly problem: string | null }
  | { readonly loaded: null; readonly problem: string };

const DEFAULT_TIMEOUT_MS = 30_000;

export async function createRegistry(options: RegistryOptions): Promise<Personas> {
  const { read, code, knowledge, knownTools, log } = options;
  const listeners = new Set<() => void>();
  let entries = new Map<string, Entry>();
  let configured = read();
  let broken: string | null = null;
  let watcher: { close(): void; follow(files: readonly string[]): void } | null = null;
  let reloading: Promise<void> = Promise.resolve();

  await load();
  return {
    list: () => [...entries.values()].flatMap(({ loaded }) => (loaded === null ? [] : [infoOf(loaded.persona)])),
    find: (name) => {
      const loaded = entries.get(keyOf(name))?.loaded;
      return loaded ? infoOf(loaded.persona) : null;
    },
    resolve,
    problems,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload,
    watch: () => {
      watcher ??= watchFiles(() => void reload());
      watcher.follow(files());
    },
    close: () => watcher?.close(),
  };

  async function load() {
    const next = new Map<string, Entry>();
    for (const persona of code) next.set(keyOf(persona.name), { loaded: fromCode(persona), problem: null });
    const found = await Promise.all(
      configured.entries.map(async (entry): Promise<[PersonaEntry, Entry]> => {
        const last = entries.get(keyOf(entry.name))?.loaded ?? null;
        try {
          return [entry, { loaded: await loadPersona(entry, last, options), problem: null }];
        } catch (error) {
          const problem = error instanceof Error ? error.message : String(error);
          return [entry, { loaded: last, problem }];
        }
      }),
    );
    for (const [entry, state] of found) {
      if (next.has(keyOf(entry.name))) {
        const problem = `${entry.table}: the program itself has a persona of that name, and that one is served.`;
        next.set(keyOf(entry.name), { ...(next.get(keyOf(entry.name)) as Entry), problem });
      } else next.set(keyOf(entry.name), state);
    }
    const before = entries;
    entries = next;
    const told = new Set([...before.values()].map(({ problem }) => problem));
    for (const { problem } of entries.values()) if (problem !== null && !told.has(problem)) log('error', problem);
    watcher?.follow(files());
    const changed = [...entries].some(([key, { loaded }]) => before.get(key)?.loaded !== loaded);
    return changed || before.size !== entries.size;
  }

  /** One at a time, so that an older reading never replaces a newer one. */
  function reload(): Promise<void> {
    reloading = reloading.then(async () => {
      try {
        configured = read();
        broken = null;
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        if (problem !== broken) log('error', problem);
        broken = problem;
      }
      if (await load()) for (const listener of listeners) listener();
    });
    return reloading;
  }

  async function resolve(
    name: string,
    args: Readonly<Record<string, unknown>>,
    use: PersonaUse = {},
  ): Promise<PersonaPrompt> {
    const entry = entries.get(keyOf(name));
    if (entry === undefined) throw new SubstratError('not_found', `There is no agent "${shorten(name)}".`);
    if (entry.loaded === null) throw new SubstratError('agent_error', `${name} cannot be used: ${entry.problem}`);
    const { persona, timeoutMs } = entry.loaded;
    for (const { name: wanted, required } of persona.arguments) {
      const given = Object.hasOwn(args, wanted) ? args[wanted] : null;
      if (required && (given === undefined || given === null || given === '')) {
        throw new SubstratError('bad_request', `Missing required argument "${wanted}" of ${persona.name}.`);
      }
    }
    const limit = Math.min(timeoutMs || DEFAULT_TIMEOUT_MS, use.timeoutMs ?? Number.POSITIVE_INFINITY);
    const base = use.knowledge ?? knowledge;
    const say: ScriptLog = (level, message) => log(level === 'debug' ? 'info' : level, `${persona.name}: ${message}`);
    const context = { ...knowledgeContext(base), log: say };
    const answer = persona.resolve(args, { knowledge: base, log: say, timeoutMs: limit, context });
    return toPrompt(persona, await within(limit, answer, persona));
  }

  function problems(): string[] {
    const known = knownTools?.();
    return [
      ...(broken === null ? [] : [broken]),
      ...[...entries.values()].flatMap(({ loaded, problem }) => [
        ...(problem === null ? [] : [problem]),
        ...(loaded?.warnings ?? []),
        ...unknownTools(loaded?.persona ?? null, known),
      ]),
    ];
  }

  function files(): string[] {
    const paths = configured.entries.flatMap((entry) => (entry.kind === 'toml' ? [] : [entry.path]));
    return configured.file === null ? paths : [configured.file, ...paths];
  }
}

function unknownTools(persona: PersonaInfo | null, known: readonly string[] | undefined): string[] {
  const unknown = persona?.tools.filter((tool) => known?.includes(tool) === false) ?? [];
  return unknown.map((tool) => `${persona?.name}: there is no tool "${shorten(tool)}".`);
}

function fromCode(persona: Persona): Loaded {
  const resolve: LoadedPersona['resolve'] = async (args, { context }) => persona.resolve(args, context);
  return { persona: { ...persona, resolve }, timeoutMs: DEFAULT_TIMEOUT_MS, path: null, version: '', warnings: [] };
}

function infoOf({ name, description, tools, source, arguments: declared }: PersonaInfo): PersonaInfo {
  return { name, description, tools, source, arguments: declared };
}

/** Scripts end at their limit by themselves; code of the program can only be left alone with what it does. */
async function within(limit: number, answer: Promise<unknown>, { name, source }: PersonaInfo): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    if (source !== 'ts') return;
    const error = new SubstratError('timeout', `${name} took longer than its ${limit / 1_000} s.`);
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
    throw new SubstratError('agent_error', `${name}: resolve answered no prompt: ${problemsOf(parsed.error)}.`);
  }
  const { system, messages } = parsed.data;
  return { system, tools: parsed.data.tools ?? tools, messages };
}
