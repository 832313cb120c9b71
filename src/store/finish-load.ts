import { createTx } from './create-tx.ts';
import type { Finishing } from './dump.ts';
import { indexedColumns, indexedWords } from './fulltext.ts';
import { migrate } from './migrate.ts';
import { scoped } from './passages.ts';
import { createQueries, type Engine, type Execute, type Queries } from './query.ts';

/** What the numbers of events leap by, so that none from after the backup is given again, to another event. */
const EVENT_LEAP = 1_000_000_000;
const BATCH = 200;

/** What every engine does after the rows are loaded, in their transaction. */
export async function finishLoad(execute: Execute, engine: Engine, finishing: Finishing): Promise<void> {
  await migrate(execute, engine);
  const queries = createQueries(engine, execute);
  await indexPassages(queries, finishing);
  await indexChunks(queries, finishing);
  const tx = createTx(engine, execute, { seq: 0, runnable: false });
  // Whoever follows the log with a number from before hears that it is gone, and reads the state again.
  const last = await tx.events.getEventCounter();
  await execute('delete from events', []);
  await execute(`update counters set value = ${last + EVENT_LEAP} where name = 'event'`, []);
  // These are processes of another time, perhaps of another machine.
  await execute('update runs set pid = null, pid_started = null', []);
  const { move } = finishing;
  if (move) {
    const [from, to] = [`${move.from}/workspaces`, `${move.to}/workspaces`];
    await tx.workspaces.moveDirectory({ nodeId: move.nodeId, from, to });
  }
}

async function indexPassages({ db, all, run, engine }: Queries, { passageWords }: Finishing): Promise<void> {
  const page = all((p: { agentId: string; seq: number; limit: number }) =>
    db
      .selectFrom('passages')
      .select(['agentId', 'seq', 'content', 'tags'])
      .where((eb) => eb(eb.refTuple('agentId', 'seq'), '>', eb.tuple(p.agentId, p.seq)))
      .orderBy('agentId')
      .orderBy('seq')
      .limit(p.limit),
  );
  const insert = run((p: { rowid: number; words: string }) =>
    db.insertInto('passage_words').values({ rowid: p.rowid, words: p.words }),
  );
  for (let last = { agentId: '', seq: 0 }; ; ) {
    const rows = await page({ agentId: last.agentId, seq: last.seq, limit: BATCH });
    for (const row of rows) {
      await insert({ rowid: row.seq, words: indexedWords(engine, scoped(row.agentId, passageWords(row))) });
    }
    const end = rows.at(-1);
    if (!end) return;
    last = end;
  }
}

async function indexChunks({ db, all, engine, fetch }: Queries, { chunkWords }: Finishing): Promise<void> {
  const page = all((p: { id: number; limit: number }) =>
    db
      .selectFrom('chunks')
      .innerJoin('documents', 'documents.id', 'chunks.documentId')
      .select(['chunks.id', 'documents.title', 'chunks.place', 'chunks.text'])
      .where('chunks.id', '>', p.id)
      .orderBy('chunks.id')
      .limit(p.limit),
  );
  for (let last = 0; ; ) {
    const rows = await page({ id: last, limit: BATCH });
    for (const row of rows) {
      const { title, words } = indexedColumns(engine, chunkWords(row));
      // PostgreSQL's table has no column for titles.
      const values = engine === 'sqlite' ? { rowid: row.id, title, words } : ({ rowid: row.id, words } as never);
      await fetch(db.insertInto('chunk_words').values(values));
    }
    const end = rows.at(-1);
    if (!end) return;
    last = end.id;
  }
}
