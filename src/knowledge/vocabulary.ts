import { turnOfOthers } from '../core/turn-of-others.ts';
import { type NearWords, nearWordsOf } from '../search/search.ts';
import type { Store } from '../store/store.ts';

/** The words of the index in memory. Loaded when a query has a word that no chunk has. */
export interface Vocabulary {
  /** Null while it is being loaded for longer than a search should wait. */
  get(): Promise<NearWords | null>;
}

/** SQLite answers on this thread, so that its words are read a few at a time. */
const PAGE = 2000;
const MOST_WORDS = 500_000;
const FRESH_MS = 60_000;

export function createVocabulary(store: Store, patienceMs: number): Vocabulary {
  let words: NearWords | null = null;
  let loadedAt = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | null = null;
  const load = async (): Promise<void> => {
    const terms: string[] = [];
    const limit = store.engine === 'postgres' ? MOST_WORDS : PAGE;
    for (let after = ''; terms.length < MOST_WORDS; ) {
      const page = await store.read((tx) => tx.documents.listTerms({ after, limit }));
      terms.push(...page);
      after = page.at(-1) ?? after;
      if (page.length < limit) break;
      await turnOfOthers();
    }
    words = nearWordsOf(terms);
    loadedAt = performance.now();
  };
  return {
    get: async () => {
      if (performance.now() - loadedAt < FRESH_MS) return words;
      loading ??= load().finally(() => {
        loading = null;
      });
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patienceMs);
      });
      // A failure leaves a search without near words; the search itself reports what is wrong with the store.
      await Promise.race([loading.catch(() => {}), late]).finally(() => clearTimeout(timer));
      return words;
    },
  };
}
