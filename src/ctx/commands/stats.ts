import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { counted } from '../../core/text.ts';
import type { Store } from '../../store/store.ts';
import { withStore } from '../context.ts';

export function statsCommand(context: Context): Command {
  return new Command('stats')
    .description('Show the number of documents and chunks.')
    .addHelpText('after', '\nExample:\n  ctx stats --json')
    .action(async (_: unknown, command: Command) => {
      const stats = await withStore(context, command, ({ store }) => readStats(store));
      if (isJson(command)) return context.print(JSON.stringify(stats));
      context.print(`${counted(stats.documents, 'document')}, ${counted(stats.chunks, 'chunk')}`);
      const rows = stats.sources.map((one) => [
        one.name,
        String(one.documents),
        String(one.skipped),
        one.synced_at ?? 'never',
      ]);
      if (rows.length > 0)
        for (const line of table(['SOURCE', 'DOCUMENTS', 'SKIPPED', 'SYNCED'], rows)) context.print(line);
    });
}

function readStats(store: Store) {
  return store.read(async (tx) => {
    const counts = new Map((await tx.documents.listSourceCounts()).map((row) => [row.source, row.documents]));
    const sources = [];
    for (const { name, syncedAt } of await tx.documents.listSources()) {
      const skipped = (await tx.documents.listSkipped({ source: name })).length;
      const at = syncedAt === null ? null : new Date(syncedAt).toISOString();
      sources.push({ name, documents: counts.get(name) ?? 0, skipped, synced_at: at });
    }
    const documents = [...counts.values()].reduce((sum, count) => sum + count, 0);
    return { documents, chunks: await tx.documents.countChunks(), sources };
  });
}
