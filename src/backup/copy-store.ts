import { hash } from 'node:crypto';
import { SubstratError } from '../core/errors.ts';
import { canonicalJson } from '../core/text.ts';
import { chunkWords, passageWords } from '../search/search.ts';
import { openLoad, openSnapshot, type Row } from '../store/snapshot.ts';

export interface CopyOptions {
  readonly from: string;
  /** The URL of a PostgreSQL database without a store. */
  readonly to: string;
  readonly onProgress: (line: string) => void;
}

interface Sum {
  readonly rows: number;
  /** Of all rows, in any order. */
  readonly checksum: bigint;
}

/** Event streams start over, as after a restore, with a much higher event number. */
const NOT_COPIED = ['events', 'counters'];

/**
 * Copies a SQLite store that nobody uses into a database, in one transaction, and compares what is there afterwards.
 * Returns the number of rows of each table.
 */
export async function copyStore({ from, to, onProgress }: CopyOptions): Promise<Record<string, number>> {
  const source = await openSnapshot({ path: from });
  try {
    const load = await openLoad({ url: to }, { version: source.version, replace: false });
    const copied = new Map<string, Sum>();
    try {
      for (const table of source.tables) {
        const sum = await sumOf(table, source.rows(table), (rows) => load.insert(table, rows));
        copied.set(table, sum);
        if (sum.rows > 0) onProgress(`${table}: ${sum.rows} rows`);
      }
      await load.finish({
        counters: source.counters,
        passageWords,
        chunkWords: ({ title, place, text }) => chunkWords({ title, headings: place.headings ?? [], text }),
        move: null,
      });
    } catch (error) {
      await load.abort();
      throw error;
    }
    await load.commit();
    await verify(to, copied);
    return Object.fromEntries([...copied].map(([table, { rows }]) => [table, rows]));
  } finally {
    await source.close();
  }
}

async function verify(url: string, copied: ReadonlyMap<string, Sum>): Promise<void> {
  const copy = await openSnapshot({ url });
  try {
    for (const [table, expected] of copied) {
      if (NOT_COPIED.includes(table)) continue;
      const { rows, checksum } = await sumOf(table, copy.rows(table), async () => {});
      if (rows === expected.rows && checksum === expected.checksum) continue;
      const what = rows === expected.rows ? 'other contents' : `${rows} rows instead of ${expected.rows}`;
      throw new SubstratError('store', `The copy is wrong: ${table} has ${what}. Do not use that database.`);
    }
  } finally {
    await copy.close();
  }
}

async function sumOf(
  table: string,
  pages: AsyncIterable<readonly Row[]>,
  onPage: (rows: readonly Row[]) => Promise<void>,
): Promise<Sum> {
  let [rows, checksum] = [0, 0n];
  for await (const page of pages) {
    await onPage(page);
    rows += page.length;
    for (const row of page) {
      const text = canonicalJson(comparable(table, row));
      checksum = BigInt.asUintN(256, checksum + BigInt(`0x${hash('sha256', text)}`));
    }
  }
  return { rows, checksum };
}

/** Without what a load changes: ids of processes, and NUL, which PostgreSQL does not store. */
function comparable(table: string, row: Row): Record<string, string | number | null> {
  const entries = Object.entries(row).map(([column, value]): [string, string | number | null] => {
    if (table === 'runs' && column.startsWith('pid')) return [column, null];
    if (value instanceof Uint8Array) return [column, Buffer.from(value).toString('base64')];
    return [column, typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value];
  });
  return Object.fromEntries(entries);
}
