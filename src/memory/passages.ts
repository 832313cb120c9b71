import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { checkLine } from '../core/line.ts';
import type { Passage } from '../core/memory.ts';
import { passageWords } from '../search/search.ts';
import type { Tx } from './tx.ts';

const ALL = { tags: [], since: 0, until: Number.MAX_SAFE_INTEGER };

export async function storePassage(
  tx: Tx,
  agentId: string,
  passage: { readonly content: string; readonly tags: readonly string[]; readonly runId?: string },
  now: number,
): Promise<string> {
  const { content } = passage;
  for (const tag of passage.tags) checkLine('A tag', tag);
  const id = newId();
  await tx.events.appendEvent({ type: 'passage_stored', at: now, agentId, data: { agentId, passageId: id } });
  const stored = { agentId, id, content, tags: [...new Set(passage.tags)], createdAt: now };
  const row = { ...stored, runId: passage.runId ?? null };
  // The last one is indexed again, with the one before it and the new one.
  const [last, earlier] = await tx.memory.listPassages({ agentId, ...ALL, before: Number.MAX_SAFE_INTEGER, limit: 2 });
  const seq = await tx.memory.insertPassage({ ...row, folded: foldedByUs(content) });
  await index(tx, { ...row, seq }, [last]);
  if (last) await index(tx, last, [earlier, { ...row, seq }]);
  return id;
}

export async function deletePassage(tx: Tx, agentId: string, id: string, now: number): Promise<void> {
  const row = await tx.memory.getPassage({ agentId, id });
  if (!row || !(await tx.memory.tryDeletePassage({ agentId, id }))) {
    throw new SubstratError('not_found', `There is no passage ${id.slice(0, 80)}.`);
  }
  const { before, after } = await tx.memory.getPassagesBeside({ agentId, seq: row.seq });
  for (const beside of [before, after]) if (beside) await indexAgain(tx, beside);
  await tx.events.appendEvent({ type: 'passage_deleted', at: now, agentId, data: { agentId, passageId: id } });
}

/** A passage is also found by the words of its neighbours, so it is indexed again when they change. */
async function indexAgain(tx: Tx, passage: Passage): Promise<void> {
  const { before, after } = await tx.memory.getPassagesBeside(passage);
  await index(tx, passage, [before, after]);
}

async function index(tx: Tx, passage: Passage, beside: readonly (Passage | null | undefined)[]): Promise<void> {
  const { agentId, seq } = passage;
  const words = passageWords(
    passage,
    beside.filter((one) => one !== null && one !== undefined),
  );
  await tx.memory.indexPassage({ agentId, seq, words });
}

/** Indexes the passages that an earlier version stored, some at a time. Returns how many it has indexed. */
export async function indexPassages(tx: Tx, limit: number): Promise<number> {
  const rows = await tx.memory.listUnindexedPassages({ limit });
  for (const row of rows) await indexAgain(tx, row);
  return rows.length;
}

/** SQLite compares only ASCII letters case-insensitively; for other letters a lower-case copy of the text is stored. */
function foldedByUs(content: string): string | null {
  const folded = content.toLowerCase();
  return folded === content.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) ? null : folded;
}
