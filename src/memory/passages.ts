import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { checkLine } from '../core/line.ts';
import type { Passage } from '../core/memory.ts';
import { passageQuery, passageWords } from '../search/search.ts';
import type { PassageFilter } from '../store/store.ts';
import type { Tx } from './tx.ts';

/** Longer queries are only matched by words: nobody remembers a page verbatim. */
const MAX_SUBSTRING = 200;

export async function storePassage(
  tx: Tx,
  agentId: string,
  passage: { readonly content: string; readonly tags: readonly string[] },
  now: number,
): Promise<string> {
  const { content } = passage;
  for (const tag of passage.tags) checkLine('A tag', tag);
  const id = newId();
  const tags = [...new Set(passage.tags)];
  const seq = await tx.events.appendEvent({
    type: 'passage_stored',
    at: now,
    agentId,
    data: { agentId, passageId: id },
  });
  await tx.memory.insertPassage({
    agentId,
    seq,
    id,
    content,
    folded: foldedByUs(content),
    tags,
    createdAt: now,
    words: passageWords({ content, tags }),
  });
  return id;
}

export async function deletePassage(tx: Tx, agentId: string, id: string, now: number): Promise<void> {
  if (!(await tx.memory.tryDeletePassage({ agentId, id }))) {
    throw new SubstratError('not_found', `There is no passage ${id.slice(0, 80)}.`);
  }
  await tx.events.appendEvent({ type: 'passage_deleted', at: now, agentId, data: { agentId, passageId: id } });
}

export const EVERYTHING = { tag: null, since: 0, until: Number.MAX_SAFE_INTEGER } as const;

export interface Wanted extends PassageFilter {
  readonly query: string;
  readonly limit: number;
}

/** A search method: returns matches, best first. */
type Finder = (tx: Tx, wanted: Wanted) => Promise<Passage[]>;

const byWords: Finder = async (tx, { query, ...filter }) => {
  const words = passageQuery(query);
  return words.length === 0 ? [] : tx.memory.findPassages({ ...filter, words });
};

const bySubstring: Finder = async (tx, { query, ...filter }) => {
  const text = query.trim();
  return text === '' || text.length > MAX_SUBSTRING ? [] : tx.memory.findPassagesContaining({ ...filter, text });
};

/** Tried in this order; later ones fill the remaining places. Semantic search would be added here. */
const FINDERS: readonly Finder[] = [byWords, bySubstring];

export async function searchPassages(tx: Tx, wanted: Wanted): Promise<Passage[]> {
  const found = new Map<string, Passage>();
  for (const find of FINDERS) {
    if (found.size >= wanted.limit) break;
    for (const row of await find(tx, wanted)) if (found.size < wanted.limit) found.set(row.id, row);
  }
  return [...found.values()];
}

/** SQLite compares only ASCII letters case-insensitively; for other letters a lower-case copy of the text is stored. */
function foldedByUs(content: string): string | null {
  const folded = content.toLowerCase();
  return folded === content.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) ? null : folded;
}
