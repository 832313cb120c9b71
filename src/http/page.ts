import type { MessageView } from '../store/store.ts';
import { readCursor, writeCursor } from './cursor.ts';

/** A text may have a million characters, so a page is bounded by its characters too; it has at least one message. */
const MOST_CHARACTERS = 1_000_000;
/** How many messages are read at a time: few, because each may be long. */
const FIRST_BATCH = 10;
const BATCH = 20;

export interface MessagePage {
  readonly rows: readonly MessageView[];
  readonly nextCursor: string | null;
}

/** Messages of a list that is read newest first, from where the cursor says. */
export async function readMessagePage(
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  list: (page: { readonly before: number; readonly limit: number }) => Promise<readonly MessageView[]>,
): Promise<MessagePage> {
  const rows: MessageView[] = [];
  let characters = 0;
  let before = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
  for (;;) {
    const wanted = Math.min(rows.length === 0 ? FIRST_BATCH : BATCH, limit + 1 - rows.length);
    const found = await list({ before, limit: wanted });
    for (const row of found) {
      characters += row.text.length;
      const isFull = rows.length === limit || (rows.length > 0 && characters > MOST_CHARACTERS);
      if (isFull) return { rows, nextCursor: writeCursor(before) };
      rows.push(row);
      before = row.seq;
    }
    if (found.length < wanted) return { rows, nextCursor: null };
  }
}
