import type { Command } from 'commander';
import { type Context, isJson, readCount } from '../command-line/context.ts';
import { harmless } from '../command-line/terminal.ts';
import { SubstratError } from '../core/errors.ts';
import { counted } from '../core/text.ts';
import type { ConfiguredSource } from '../knowledge/connectors/create.ts';
import { Extractor } from '../knowledge/extract/extractor.ts';
import { type SyncCounts, type SyncOptions, syncSource } from '../knowledge/sync.ts';
import type { OpenedStore } from './context.ts';
import { showProgress } from './progress.ts';
import { readTime } from './read-time.ts';

export interface SyncFlags {
  readonly full?: boolean;
  readonly dryRun?: boolean;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly watch?: boolean;
  /** False for `--no-progress`. */
  readonly progress?: 'human' | 'json' | false;
}

export type Report = { readonly name: string } & ({ readonly error: string } | SyncCounts);

/** Syncs one source after another. `skipped` replaces the line for each item that cannot be read. */
export function createSync(
  context: Context,
  command: Command,
  { config, store }: OpenedStore,
  flags: SyncFlags,
  signal: AbortSignal,
  skipped?: { readonly onSkip: SyncOptions['onSkip']; readonly onOther: (sourceId: string) => void },
) {
  const extractor = new Extractor();
  // Does not wait for documents being read.
  signal.addEventListener('abort', () => void extractor.close(), { once: true });
  const indexer = { extractor, limits: config.chunking, clock: Date.now };
  const dryRun = flags.dryRun ?? false;
  const scope = {
    full: flags.full ?? false,
    since: readTime('--since', flags.since),
    until: readTime('--until', flags.until),
    limit: flags.limit === undefined ? null : readLimit(flags.limit),
  };
  return {
    close: () => extractor.close(),
    async run(source: ConfiguredSource, { onlyNews = false } = {}): Promise<Report> {
      const { name } = source;
      const progress = showProgress(name, flags.progress === false ? 'off' : (flags.progress ?? 'human'));
      try {
        const connector = await source.open();
        try {
          const note = (sourceId: string, reason: string) => progress.note(`${name}: skipped ${sourceId}: ${reason}`);
          const { onSkip, onOther } = skipped ?? { onSkip: note, onOther: undefined };
          const options = {
            store,
            connector,
            indexer,
            scope,
            dryRun,
            signal,
            onProgress: progress.draw,
            onSkip,
            onOther,
          };
          const counts = await syncSource(options);
          progress.end();
          const isNews = counts.indexed + counts.deleted > 0;
          if (!isJson(command) && (isNews || !onlyNews)) context.print(describeCounts(name, counts, dryRun));
          return { name, ...counts };
        } finally {
          await connector.close();
        }
      } catch (error) {
        progress.end();
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof SubstratError)) throw error;
        process.stderr.write(`ctx: ${name}: ${harmless(error.message)}\n`);
        return { name, error: error.message };
      }
    },
  };
}

function describeCounts(name: string, counts: SyncCounts, dryRun: boolean): string {
  const { seen, unchanged, indexed, chunks, deleted, skipped } = counts;
  const did = dryRun
    ? `${indexed} to index, ${deleted} to remove`
    : `${indexed} indexed (${counted(chunks, 'chunk')}), ${deleted} removed`;
  return `${name}: ${seen} seen, ${did}, ${unchanged} unchanged, ${skipped} skipped`;
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit > 0) return limit;
  return readCount('--limit', text);
}
