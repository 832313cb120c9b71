import type { ConfiguredSource } from './connectors/create.ts';

/**
 * Calls `sync` for every source that asks to be watched whenever it changes, one after another, until it is told to end; first
 * for all of them once, because of what changed before somebody looked.
 */
export async function watchSources(
  sources: readonly ConfiguredSource[],
  signal: AbortSignal,
  sync: (source: ConfiguredSource) => Promise<void>,
): Promise<void> {
  const changed = new Set<ConfiguredSource>();
  let wake = (): void => {};
  const stops: (() => Promise<void>)[] = [];
  try {
    for (const source of sources.filter(({ watch }) => watch)) {
      const connector = await source.open();
      const stop = await connector.watch?.(() => {
        changed.add(source);
        wake();
      });
      if (!stop) continue;
      stops.push(stop);
      changed.add(source);
    }
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted && stops.length > 0) {
      const [source] = changed;
      if (source) {
        changed.delete(source);
        await sync(source);
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}
