import { keyOf } from '../core/agent.ts';
import { watchFiles } from './watch.ts';

/** Entries of the configuration that are loaded from files, in their current version. */
export interface Following<Loaded> {
  /** Returns null if there is none of that name. Names are case-insensitive. */
  get(name: string): State<Loaded> | null;
  states(): readonly State<Loaded>[];
  /** What is wrong with the configuration itself. */
  readonly broken: string | null;
  onChange(listener: () => void): () => void;
  /** Reads changed files again. */
  reload(): Promise<void>;
  /** Starts reloading automatically when a file changes. */
  watch(): void;
  close(): void;
}

/** The last good version and the problem of a newer one. Null: there never was a good version. */
export interface State<Loaded> {
  readonly name: string;
  readonly loaded: Loaded | null;
  readonly problem: string | null;
}

interface FollowOptions<Entry, Loaded> {
  /** Returns the current configuration. If it throws, the previous one stays in effect. */
  readonly read: () => { readonly entries: readonly Entry[]; readonly file: string | null };
  /** Returns `last` if nothing has changed. */
  readonly load: (entry: Entry, last: Loaded | null) => Promise<Loaded>;
  readonly report: (problem: string) => void;
}

export async function follow<Entry extends { readonly name: string; readonly path?: string }, Loaded>(
  options: FollowOptions<Entry, Loaded>,
): Promise<Following<Loaded>> {
  const { read, load, report } = options;
  const listeners = new Set<() => void>();
  let states = new Map<string, State<Loaded>>();
  let configured = read();
  let broken: string | null = null;
  let reloading = Promise.resolve();
  let watcher: ReturnType<typeof watchFiles> | null = null;

  await loadAll();
  return {
    get: (name) => states.get(keyOf(name)) ?? null,
    states: () => [...states.values()],
    get broken() {
      return broken;
    },
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

  /** One at a time, so that an older read never overwrites a newer one. */
  function reload(): Promise<void> {
    reloading = reloading.then(async () => {
      try {
        configured = read();
        broken = null;
      } catch (error) {
        const problem = messageOf(error);
        if (problem !== broken) report(problem);
        broken = problem;
      }
      if (await loadAll()) for (const listener of listeners) callListener(listener);
    });
    // A failed reload is retried at the next change.
    reloading = reloading.catch((error: unknown) => report(`The files could not be read again: ${messageOf(error)}`));
    return reloading;
  }

  /** A throwing listener affects neither the other listeners nor file watching. */
  function callListener(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      report(`A change listener failed: ${messageOf(error)}`);
    }
  }

  async function loadAll(): Promise<boolean> {
    const before = states;
    const found = await Promise.all(
      configured.entries.map(async (entry): Promise<State<Loaded>> => {
        const { name } = entry;
        const last = before.get(keyOf(name))?.loaded ?? null;
        try {
          return { name, loaded: await load(entry, last), problem: null };
        } catch (error) {
          return { name, loaded: last, problem: messageOf(error) };
        }
      }),
    );
    states = new Map(found.map((state) => [keyOf(state.name), state]));
    watcher?.follow(files());
    for (const { name, problem } of found) {
      if (problem !== null && problem !== before.get(keyOf(name))?.problem) report(problem);
    }
    return before.size !== states.size || found.some(({ name, loaded }) => before.get(keyOf(name))?.loaded !== loaded);
  }

  function files(): string[] {
    const paths = configured.entries.flatMap(({ path }) => (path === undefined ? [] : [path]));
    return configured.file === null ? paths : [configured.file, ...paths];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
