import { type ChunkQuery, type Near, stemsOf, wordsOf } from '../search/search.ts';
import type { Store } from '../store/store.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Words to look up in the place of those that no chunk has. */
export interface NearQuery extends ChunkQuery {
  /** What stands in the place of which typed word. */
  readonly meant: readonly { readonly typed: string; readonly stems: readonly string[]; readonly by: Near['by'] }[];
}

const NOTHING: NearQuery = { words: [], phrases: [], meant: [] };
/** A pasted page has many words of its own; only a query that somebody typed is helped. */
const MOST_TYPED = 12;

export async function nearQuery(
  store: Store,
  vocabulary: Vocabulary,
  text: string,
  asked: ChunkQuery,
): Promise<NearQuery> {
  if (asked.words.length === 0 || asked.words.length > MOST_TYPED) return NOTHING;
  const unknown = await store.read((tx) => tx.documents.listUnknownWords({ words: asked.words }));
  if (unknown.length === 0) return NOTHING;
  const known = await vocabulary.get();
  const typedAs = new Map(wordsOf(text).map((word) => [stemsOf(word)[0] ?? word, word]));
  const meant = unknown.flatMap((stem) => {
    const typed = typedAs.get(stem) ?? stem;
    const near = known?.near(typed, stem) ?? { words: [], by: null };
    return near.words.length > 0 ? [{ typed, stems: near.words, by: near.by }] : [];
  });
  const numbers = unknown.filter((word) => /^\d{4,12}$/.test(word)).map(inThousands);
  return {
    words: [...new Set([...meant.flatMap(({ stems }) => stems), ...numbers.map((groups) => groups.at(-1) as string)])],
    phrases: numbers,
    meant,
  };
}

/** 1299 is also written 1,299: the index has `1` and `299`, one after the other. */
function inThousands(number: string): string[] {
  return number.replace(/\B(?=(\d{3})+$)/g, ' ').split(' ');
}

/** The query with the words that were probably meant, as the results write them; null if nothing was corrected. */
export function didYouMean(query: string, { meant }: NearQuery, texts: readonly string[]): string | null {
  let better = query;
  for (const { typed, stems, by } of meant) {
    if (by !== 'edits') continue;
    const words = texts.flatMap((text) => wordsOf(text));
    const word = words.find((one) => stems.includes(stemsOf(one)[0] ?? ''));
    if (word !== undefined)
      better = better.replace(new RegExp(`(?<![\\p{L}\\p{N}])${typed}(?![\\p{L}\\p{N}])`, 'iu'), word);
  }
  return better === query ? null : better;
}
