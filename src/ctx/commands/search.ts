import { Command, Option } from 'commander';
import { type Context, isJson, readCount } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import {
  SEARCH_MODES,
  type SearchAnswer,
  type SearchMode,
  type SearchRequest,
  type SearchResult,
} from '../../core/knowledge.ts';
import { shortId } from '../../core/short-id.ts';
import { askServer } from '../ask.ts';
import { readTime } from '../read-time.ts';

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
        // On a terminal, the words that matched are emphasized.
        ...(flags.explain || !isJson(command) ? { explain: true } : {}),
      };
      const found = (await askServer(context, command, request)) ?? (await searchHere(context, command, request));
      if (isJson(command)) return context.print(JSON.stringify(found));
      if (found.warning !== undefined) process.stderr.write(`warning: ${found.warning}\n`);
      if (found.did_you_mean !== undefined) context.print(`Did you mean: ${found.did_you_mean}\n`);
      if (flags.explain && found.rerank !== undefined) {
        const { model, documents, ms } = found.rerank;
        context.print(`Reranked ${documents} documents with ${model} in ${ms} ms.\n`);
      }
      if (found.results.length === 0) return context.print('No results.');
      for (const [i, result] of found.results.entries())
        for (const line of resultLines(i + 1, result, flags.explain ?? false)) context.print(line);
    });
}

/** Opens the store. Its code is loaded only here, because it takes longer than to ask a server. */
async function searchHere(context: Context, command: Command, request: SearchRequest): Promise<SearchAnswer> {
  const { withStore } = await import('../context.ts');
  return withStore(context, command, ({ knowledge }) => knowledge.search(request));
}

function resultLines(n: number, result: SearchResult, isExplained: boolean): string[] {
  const { score, title, source, source_id, snippet, id, explain } = result;
  const matched = explain?.matched ?? [];
  const lines = [
    `${n}. ${paint('bold', title ?? source_id)}  ${paint('dim', `${score.toFixed(2)}  ${source} ${source_id}  ${shortId(id)}`)}`,
    ...emphasized(snippet, matched)
      .split('\n')
      .slice(0, 6)
      .map((line) => `   ${line}`),
  ];
  if (!hasColour() && matched.length > 0) lines.push(`   matched: ${matched.join(', ')}`);
  if (isExplained) lines.push(`   ${paint('dim', JSON.stringify(explain))}`);
  return [...lines, ''];
}

function emphasized(text: string, words: readonly string[]): string {
  if (words.length === 0) return text;
  const longestFirst = words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])(${longestFirst.join('|')})(?![\\p{L}\\p{N}])`, 'gu'), (word) =>
    paint('yellow', word),
  );
}

function hasColour(): boolean {
  return paint('yellow', 'x') !== 'x';
}

function isoTime(ms: number | null): string | undefined {
  return ms === null ? undefined : new Date(ms).toISOString();
}
