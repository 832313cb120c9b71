import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { asDocument } from '../../knowledge/knowledge.ts';
import type { Store } from '../../store/store.ts';
import { withStore } from '../context.ts';

const PAGE = 50;

export function exportCommand(context: Context): Command {
  return new Command('export')
    .description('Export every document with its chunks as JSON Lines.')
    .option('--source <source>', 'only this source, TYPE:NAME')
    .option('--output <file>', 'write to this file instead of stdout')
    .addHelpText('after', '\nExample:\n  ctx export --source git:platform --output platform.jsonl')
    .action(async (flags: { source?: string; output?: string }, command: Command) => {
      await withStore(context, command, async ({ store }) => {
        const out = flags.output === undefined ? process.stdout : createWriteStream(flags.output, { mode: 0o600 });
        let count = 0;
        for await (const line of documentLines(store, flags.source ?? '')) {
          count += 1;
          if (!out.write(`${line}\n`)) await once(out, 'drain');
        }
        if (flags.output === undefined) return;
        out.end();
        await finished(out);
        context.print(
          isJson(command)
            ? JSON.stringify({ documents: count, file: flags.output })
            : `Wrote ${count} documents to ${flags.output}`,
        );
      });
    });
}

async function* documentLines(store: Store, source: string): AsyncIterable<string> {
  let after = { afterSource: '', afterId: '' };
  for (;;) {
    const rows = await store.read((tx) => tx.documents.listDocuments({ source, ...after, limit: PAGE }));
    for (const row of rows) {
      const chunks = await store.read((tx) => tx.documents.listChunks({ documentId: row.id }));
      yield JSON.stringify({ ...asDocument(row, chunks), tags: row.tags });
    }
    const last = rows.at(-1);
    if (!last) return;
    after = { afterSource: last.source, afterId: last.sourceId };
  }
}
