import type { Execute } from './query.ts';

/**
 * Adds up the rows in which PostgreSQL's connections counted chunks (migrations/0056-concurrent-syncs.ts). The caller holds
 * the lock against all writers.
 */
export async function foldChunkTotals(execute: Execute): Promise<void> {
  const { rows } = await execute('select count(*) > 1 as several from chunk_totals', []);
  if (!(rows[0] as { several: boolean }).several) return;
  const sums = 'coalesce(sum(chunks), 0) as chunks, coalesce(sum(words), 0) as words';
  const { rows: totals } = await execute(
    `with gone as (delete from chunk_totals returning *) select ${sums} from gone`,
    [],
  );
  const { chunks, words } = totals[0] as { chunks: number; words: number };
  await execute('insert into chunk_totals (backend, chunks, words) values (0, $1, $2)', [chunks, words]);
}
