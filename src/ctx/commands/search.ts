import { Command, Option } from 'commander';
import { type Context, isJson, readCount } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import { SEARCH_MODES, type SearchMode, type SearchResult } from '../../core/knowledge.ts';
import { readTime, withStore } from '../context.ts';

interface SearchFlags {
  readonly mode?: SearchMode;
  readonly source?: string;
  readonly tag?: string[];
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly explain?: boolean;
}

export function searchCommand(context: Context): Command {
  return new Command('search')
    .description('Search the documents.')
    .argument('<query...>', 'words, a "phrase", or any text')
    .addOption(new Option('--mode <mode>', 'search mode').choices([...SEARCH_MODES]))
    .option('--source <source>', 'only this source: TYPE:NAME, or just the name')
    .option('--tag <tag...>', 'only documents with these tags')
    .option('--since <time>', 'only documents changed since this time')
    .option('--until <time>', 'only documents changed before this time')
    .option('--limit <n>', 'maximum number')
    .option('--explain', 'show how each score is computed')
    .addHelpText('after', '\nExample:\n  ctx search "how do I deploy" --source runbooks --limit 5')
    .action(async (query: string[], flags: SearchFlags, command: Command) => {
      const request = {
        query: query.join(' '),
        mode: flags.mode,
        limit: flags.limit === undefined ? undefined : readCount('--limit', flags.limit),
        filters: {
          source: flags.source,
          tags: flags.tag,
          since: isoTime(readTime('--since', flags.since)),
          until: isoTime(readTime('--until', flags.until)),
        },
        ...(flags.explain ? { explain: true } : {}),
      };
      const found = await withStore(context, command, ({ knowledge }) => knowledge.search(request));
      if (isJson(command)) return context.print(JSON.stringify(found));
      if (found.results.length === 0) return context.print('No results.');
      for (const [i, result] of found.results.entries())
        for (const line of resultLines(i + 1, result)) context.print(line);
    });
}

function resultLines(n: number, result: SearchResult): string[] {
  const { score, title, source, source_id, snippet, id } = result;
  const lines = [
    `${n}. ${paint('bold', title ?? source_id)}  ${paint('dim', `${score.toFixed(2)}  ${source} ${source_id}  ${id}`)}`,
    ...snippet
      .split('\n')
      .slice(0, 6)
      .map((line) => `   ${line}`),
  ];
  if ('explain' in result) lines.push(`   ${paint('dim', JSON.stringify(result.explain))}`);
  return [...lines, ''];
}

function isoTime(ms: number | null): string | undefined {
  return ms === null ? undefined : new Date(ms).toISOString();
}
