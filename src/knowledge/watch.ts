import type { ConfiguredSource } from './connectors/create.ts';

/**
 * Syncs every watched source once, for changes made while nobody watched, and then whenever it changes, one at a
 * time, until it is stopped.
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
