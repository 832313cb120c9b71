import bm25 from 'wink-bm25-text-search';
import nlp from 'wink-nlp-utils';
import type { Collection } from './collection.ts';
import type { Ranker } from './rankings.ts';

/** wink-bm25-text-search as in its documentation, with its defaults: the best of those that were tried. */
export function plainBm25({ documents }: Collection): Ranker {
  const engine = bm25();
  engine.defineConfig({ fldWeights: { title: 1, body: 1 } });
  const { string, tokens } = nlp;
  engine.definePrepTasks([
    ...[string.lowerCase, string.removeExtraSpaces, string.tokenize0],
    ...[tokens.propagateNegations, tokens.removeWords, tokens.stem],
  ]);
  for (const { id, title, body } of documents) engine.addDoc({ title, body }, id);
  engine.consolidate();
  return async (query, limit) => engine.search(query, limit).map(([id]) => String(id));
}
