import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Collection } from './collection.ts';

/**
 * The Cranfield collection from $SUBSTRAT_CRANFIELD, or from a directory next to the project; null if it does not
 * exist.
 */
export function readCranfield(): Collection | null {
  const beside = join(import.meta.dirname, '../../../shared/data/cranfield');
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
  const [documents, queries] = [lines('documents.jsonl'), lines('queries.jsonl')];
  return { name: 'Cranfield', named: false, documents, queries, gains };
}
