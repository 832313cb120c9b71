/** A statement for PostgreSQL only, on one line, so that the semicolons inside a function do not end it. */
const postgres = (statement: string) => `/* postgres: ${statement.replaceAll(/\s+/g, ' ').trim()} */;\n`;

const guard = (table: string, source: string) =>
  postgres(`create or replace function guard_${table}() returns trigger language plpgsql as $$ begin
    perform must_hold('k:' || md5(${source})); return coalesce(new, old); end $$`) +
  postgres(`drop trigger guard on ${table}`) +
  postgres(
    `create trigger guard before insert or update or delete on ${table} for each row execute function guard_${table}()`,
  );

/**
 * Syncs of different sources run at the same time. The knowledge base has a lock for each source, and one ('k') for new
 * vectors, whose numbers are in the order of commits. Each connection counts chunks in a row of its own, and the totals
 * are the sums of all rows: two syncs would wait for each other at one row. `foldChunkTotals` keeps the rows few.
 */
export const concurrentSyncs = [
  guard('sources', 'coalesce(new.name, old.name)'),
  guard('documents', 'coalesce(new.source, old.source)'),
  guard('skipped', 'coalesce(new.source, old.source)'),
  guard('chunks', '(select source from documents where id = coalesce(new.document_id, old.document_id))'),
  postgres('drop trigger guard on chunk_vectors'),
  postgres(
    "create trigger guard before insert or update on chunk_vectors for each statement execute function guard_table('k')",
  ),
  postgres(`create trigger guard_removed before delete on chunk_vectors for each statement
    when (coalesce(current_setting('substrat.locks', true), '') = '') execute function guard_table()`),
  postgres('alter table chunk_totals add column backend integer not null default 0'),
  postgres('alter table chunk_totals add primary key (backend)'),
  postgres(`create or replace function count_chunks() returns trigger language plpgsql as $$
    declare factor integer = case tg_op when 'INSERT' then 1 else -1 end; begin
    insert into chunk_totals (backend, chunks, words)
      select pg_backend_pid(), factor * count(*), factor * sum(length) from changed having count(*) > 0
      on conflict (backend) do update
        set chunks = chunk_totals.chunks + excluded.chunks, words = chunk_totals.words + excluded.words;
    return null; end $$`),
].join('');
