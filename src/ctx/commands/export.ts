import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, Option } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { counted } from '../../core/text.ts';
import { withStore } from '../context.ts';
import { documentLines, indexJson } from '../export-index.ts';

interface ExportFlags {
  readonly source?: string;
  readonly output?: string;
  readonly format?: 'json' | 'jsonl';
}

export function exportCommand(context: Context): Command {
  return new Command('export')
    .description('Export every document with its chunks: JSON Lines, or one JSON value for the search of a web page.')
    .option('--source <source>', 'only this source, TYPE:NAME')
    .option('-o, --output <file>', 'write to this file instead of stdout')
    .addOption(
      new Option('--format <format>', 'default: json for a file named *.json, otherwise jsonl').choices([
        'json',
        'jsonl',
      ]),
    )
    .addHelpText(
      'after',
      '\nExample:\n  ctx export --source git:platform -o platform.jsonl\n  ctx export -o site/data.json',
    )
    .action(async (flags: ExportFlags, command: Command) => {
      const format = flags.format ?? (flags.output?.endsWith('.json') ? 'json' : 'jsonl');
      await withStore(context, command, async ({ store }) => {
        const out = flags.output === undefined ? process.stdout : createWriteStream(flags.output, { mode: 0o600 });
        const parts = format === 'json' ? indexJson : documentLines;
        for await (const part of parts(store, flags.source ?? '')) if (!out.write(part)) await once(out, 'drain');
        if (flags.output === undefined) return;
        out.end();
        await finished(out);
        const counts = await store.read((tx) => tx.documents.listSourceCounts());
        const chosen = counts.filter(({ source }) => !flags.source || source === flags.source);
        const count = chosen.reduce((sum, { documents }) => sum + documents, 0);
        context.print(
          isJson(command)
            ? JSON.stringify({ documents: count, file: flags.output })
            : `Wrote ${counted(count, 'document')} to ${flags.output}`,
        );
      });
    });
}
