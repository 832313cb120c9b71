import type { MessageView } from '../store/store.ts';
import { readCursor, writeCursor } from './cursor.ts';

/** A text may have a million characters, so a page is also limited by characters; it has at least one row. */
const MOST_CHARACTERS = 1_000_000;
/** Rows are read in small batches, because each may be long. */
const FIRST_BATCH = 10;
const BATCH = 20;

/** At most `limit` rows of a list from `start`, and whether there are more. */
export async function readPage<Row, Place>(
  { limit, start }: { readonly limit: number; readonly start: Place },
  list: (from: Place, limit: number) => Promise<readonly Row[]>,
  { placeOf, sizeOf }: { readonly placeOf: (row: Row) => Place; readonly sizeOf: (row: Row) => number },
): Promise<{ readonly rows: readonly Row[]; readonly more: boolean }> {
  const rows: Row[] = [];
  let characters = 0;
  let from = start;
  for (;;) {
    const wanted = Math.min(rows.length === 0 ? FIRST_BATCH : BATCH, limit + 1 - rows.length);
    const found = await list(from, wanted);
    for (const row of found) {
      characters += sizeOf(row);
      const isFull = rows.length === limit || (rows.length > 0 && characters > MOST_CHARACTERS);
      if (isFull) return { rows, more: true };
      rows.push(row);
      from = placeOf(row);
    }
    if (found.length < wanted) return { rows, more: false };
  }
}

/** Messages of a list, newest first, starting at the cursor. */
export async function readMessagePage(
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  list: (page: { readonly before: number; readonly limit: number }) => Promise<readonly MessageView[]>,
): Promise<{ readonly rows: readonly MessageView[]; readonly nextCursor: string | null }> {
  const start = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
  const { rows, more } = await readPage({ limit, start }, (before, count) => list({ before, limit: count }), {
    placeOf: ({ seq }) => seq,
    sizeOf: ({ text }) => text.length,
  });
  return { rows, nextCursor: more ? writeCursor(rows.at(-1)?.seq ?? 0) : null };
}
