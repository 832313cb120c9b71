import { Argument, Command, Option } from 'commander';
import { type Context, isJson, UsageError } from '../../command-line/context.ts';
import { SubstratError } from '../../core/errors.ts';
import type { ConfiguredSource } from '../../knowledge/connectors/create.ts';
import { watchSources } from '../../knowledge/watch.ts';
import { type OpenedStore, withStore } from '../context.ts';
import { embedAll } from '../embed-all.ts';
import { untilInterrupted } from '../interrupt.ts';
import { createSync, type Report, type SyncFlags } from '../sync-sources.ts';

export function syncCommand(context: Context): Command {
  return new Command('sync')
    .description('Sync sources: index new and changed documents, remove deleted ones.')
    .addArgument(new Argument('[source]', '"all", a type such as "git", or TYPE:NAME').default('all'))
    .option('--full', 'read everything again')
    .option('--dry-run', 'print what would be done and change nothing')
    .option('--since <time>', 'only documents changed since this time; nothing is removed')
    .option('--until <time>', 'only documents changed before this time; nothing is removed')
    .option('--limit <n>', 'maximum number of documents; nothing is removed')
    .addOption(new Option('--progress <mode>', 'how progress is shown on stderr').choices(['human', 'json']))
    .option('--no-progress', 'do not show progress')
    .option('--watch', 'keep running and sync sources with "watch = true" whenever they change')
    .addHelpText('after', '\nExample:\n  ctx sync\n  ctx sync git:platform --since 7d --dry-run')
    .action(async (wanted: string, flags: SyncFlags, command: Command) => {
      if (flags.watch && flags.dryRun) throw new UsageError('Give --watch or --dry-run, not both.');
      const interrupted = untilInterrupted(
        new SubstratError('not_running', 'The sync was interrupted. The next one continues from here.'),
      );
      await withStore(context, command, async (opened) => {
        const sources = choose(opened, wanted);
        if (flags.watch && !sources.some(({ watch }) => watch)) {
          throw new SubstratError('not_configured', 'Nothing to watch: no selected source has `watch = true`.');
        }
        const sync = createSync(context, command, opened, flags, interrupted);
        try {
          const reports: Report[] = [];
          for (const source of sources) reports.push(await sync.run(source));
          const embedded = flags.dryRun ? null : await embed(opened, interrupted);
          if (isJson(command)) context.print(JSON.stringify({ sources: reports, embedded }));
          else if (opened.embedder && embedded !== null)
            context.print(`${opened.embedder.model}: ${embedded} embedded`);
          if (flags.watch) {
            await watchSources(sources, interrupted, async (source) => {
              await sync.run(source, { onlyNews: true });
              await embed(opened, interrupted);
            }).catch((error: unknown) => {
              // Interrupting a watch during a sync is a normal end.
              if (!interrupted.aborted) throw error;
            });
          }
          if (reports.some((report) => 'error' in report)) process.exitCode = 1;
        } finally {
          await sync.close();
        }
      });
    });
}

/** Returns the number of vectors computed; null if embeddings are disabled. */
async function embed(opened: OpenedStore, signal: AbortSignal): Promise<number | null> {
  return opened.embedder ? (await embedAll(opened, opened.embedder, signal)).embedded : null;
}

function choose({ sources, config }: OpenedStore, wanted: string): ConfiguredSource[] {
  const chosen = sources.filter(
    ({ name }) => wanted === 'all' || name === wanted || name.startsWith(`${wanted}:`) || name.endsWith(`:${wanted}`),
  );
  if (chosen.length > 0) return chosen;
  if (sources.length === 0) {
    const how = config.file === null ? 'run `ctx init` to create a configuration' : `add one to ${config.file}`;
    throw new SubstratError('not_configured', `No sources are configured ([connectors.TYPE.NAME]): ${how}.`);
  }
  const names = sources.map(({ name }) => name).join(', ');
  throw new SubstratError('not_configured', `There is no source "${wanted}". Sources: ${names}.`);
}
