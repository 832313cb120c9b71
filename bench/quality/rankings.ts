import type { Collection, Half } from './collection.ts';

export interface Quality {
  readonly ndcg: number;
  readonly recall: number;
  readonly map: number;
  /** The share of queries with a relevant document among the first three. */
  readonly firstThree: number;
}

/** Ranks documents for a query: their ids, best first, at most `limit`. */
export type Ranker = (query: string, limit: number) => Promise<readonly string[]>;

const CUT = 10;
/** The depth of a ranking that counts for the mean average precision. */
const DEEP = 500;

/**
 * nDCG@10 with graded relevance; recall@10 and MAP with everything judged relevant. MAP needs a deep ranking, which
 * takes most of the time: 0 without `deep`.
 */
export async function qualityOf(
  ranker: Ranker,
  { queries, gains }: Pick<Collection, 'queries' | 'gains'>,
  half: Half,
  { deep }: { readonly deep: boolean } = { deep: false },
): Promise<Quality> {
  const each: Quality[] = [];
  for (const { id, text, half: of } of queries) {
    const wanted = gains.get(id);
    if (of !== half || !wanted) continue;
    const top = await ranker(text, CUT);
    const found = top.filter((document) => wanted.has(document)).length;
    const ideal = gainOf([...wanted.values()].sort((a, b) => b - a));
    each.push({
      ndcg: gainOf(top.map((document) => wanted.get(document) ?? 0)) / ideal,
      recall: found / wanted.size,
      map: deep ? averagePrecision(await ranker(text, DEEP), wanted) : 0,
      firstThree: top.slice(0, 3).some((document) => wanted.has(document)) ? 1 : 0,
    });
  }
  const mean = (of: keyof Quality) => each.reduce((sum, one) => sum + one[of], 0) / each.length;
  return { ndcg: mean('ndcg'), recall: mean('recall'), map: mean('map'), firstThree: mean('firstThree') };
}

function gainOf(gains: readonly number[]): number {
  return gains.slice(0, CUT).reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
}

function averagePrecision(ranking: readonly string[], wanted: ReadonlyMap<string, number>): number {
  let [hits, sum] = [0, 0];
  for (const [i, document] of ranking.entries()) {
    if (!wanted.has(document)) continue;
    hits += 1;
    sum += hits / (i + 1);
  }
  return sum / wanted.size;
}
