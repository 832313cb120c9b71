import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Collection {
  readonly documents: readonly { readonly id: string; readonly title: string; readonly body: string }[];
  readonly queries: readonly { readonly id: string; readonly text: string; readonly half: Half }[];
  /** The relevance of documents to queries, by id. */
  readonly gains: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** `dev` is for tuning, `test` for reporting. */
export type Half = 'dev' | 'test';

/**
 * The Cranfield collection from $SUBSTRAT_CRANFIELD, or from a directory next to the project; null if it does not
 * exist.
 */
export function readCranfield(): Collection | null {
  const beside = join(import.meta.dirname, '../../shared/data/cranfield');
  const directory = process.env.SUBSTRAT_CRANFIELD ?? beside;
  if (!existsSync(join(directory, 'documents.jsonl'))) return null;
  const lines = (file: string) =>
    readFileSync(join(directory, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const gains = new Map<string, Map<string, number>>();
  for (const { query, document, gain } of lines('judgements.jsonl')) {
    gains.set(query, (gains.get(query) ?? new Map()).set(document, gain));
  }
  return { documents: lines('documents.jsonl'), queries: lines('queries.jsonl'), gains };
}
