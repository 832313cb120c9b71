import { existsSync, realpathSync, renameSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import type { Config } from '../../config/config.ts';
import { SubstratError } from '../../core/errors.ts';
import type { OldStore } from '../../core/old-store.ts';
import { counted } from '../../core/text.ts';
import { oldStoreConnector } from '../../knowledge/connectors/old-store.ts';
import { openContextHarness } from '../../store/context-harness.ts';
import { withStore } from '../context.ts';
import { untilInterrupted } from '../interrupt.ts';
import { openReader } from '../open-reader.ts';
import { createSync, type Report } from '../sync-sources.ts';

const KEPT = '.context-harness';

export function importStoreCommand(context: Context): Command {
  return new Command('import-store')
    .description('Import the documents of a Context Harness store. The store itself is not changed.')
    .argument('[path]', 'its SQLite file (default: [db] path, which is kept beside as *.context-harness)')
    .option('--dry-run', 'print what would be imported and change nothing')
    .addHelpText('after', '\nExample:\n  ctx import-store ~/project/.ctx/data/ctx.sqlite')
    .action(async (given: string | undefined, { dryRun = false }: { dryRun?: boolean }, command: Command) => {
      const { db } = openReader(context, command, { quiet: true }).load();
      const path = given === undefined ? ownPath(db) : resolve(given);
      let old = openContextHarness(path);
      try {
        const found = old.sources();
        if (dryRun) {
          if (isJson(command)) return context.print(JSON.stringify({ path, sources: found }));
          for (const { source, documents } of found) context.print(`${source}: ${counted(documents, 'document')}`);
          return;
        }
        const isOwn = isSame(path, db);
        // SQLite looks for its log by name, which will be that of the new store.
        old.close();
        const kept = isOwn ? setAside(path) : path;
        old = openContextHarness(kept);
        const reports = await importSources(context, command, old, found);
        if (reports.some((report) => 'error' in report)) process.exitCode = 1;
        if (isJson(command)) return context.print(JSON.stringify({ path: kept, sources: reports }));
        if (kept !== path) context.print(`The old store is now ${kept}`);
        context.print(
          '`ctx sync` updates the documents; `ctx embed pending` embeds them if [embedding] is configured.',
        );
      } finally {
        old.close();
      }
    });
}

async function importSources(
  context: Context,
  command: Command,
  old: OldStore,
  found: readonly { readonly source: string }[],
): Promise<Report[]> {
  const interrupted = untilInterrupted(
    new SubstratError('not_running', 'The import was interrupted. Run `ctx import-store` with the path again.'),
  );
  return withStore(context, command, async (opened) => {
    // A limit: nothing that only our store has is removed.
    const sync = createSync(context, command, opened, { limit: '1000000000' }, interrupted);
    try {
      const reports: Report[] = [];
      for (const { source } of found) {
        const versions = await opened.store.read((tx) => tx.documents.listVersions({ source }));
        const known = new Set(versions.map(({ sourceId }) => sourceId));
        const open = async () => oldStoreConnector(source, old, known);
        reports.push(await sync.run({ name: source, watch: false, open }));
      }
      return reports;
    } finally {
      await sync.close();
    }
  });
}

function ownPath(db: Config['db']): string {
  if ('path' in db && db.path !== ':memory:') return db.path;
  throw new SubstratError('bad_request', 'Name the SQLite file of Context Harness: `ctx import-store PATH`.');
}

function isSame(path: string, db: Config['db']): boolean {
  return 'path' in db && existsSync(db.path) && realpathSync(db.path) === realpathSync(path);
}

/** The old file makes room for the new store. */
function setAside(path: string): string {
  const kept = `${path}${KEPT}`;
  if (existsSync(kept)) throw new SubstratError('conflict', `${kept} exists already. Move it away first.`);
  for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, kept + end);
  return kept;
}
