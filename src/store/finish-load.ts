import { nextEpoch } from '../core/event-epoch.ts';
import type { Passage } from '../core/memory.ts';
import { createTx } from './create-tx.ts';
import type { Finishing } from './dump.ts';
import { indexedColumns, indexedWords } from './fulltext.ts';
import { migrate } from './migrate.ts';
import { scopedWords } from './passages.ts';
import { createQueries, type Engine, type Execute, type Queries } from './query.ts';

const BATCH = 200;

/** Runs on every engine after the rows are loaded, in their transaction. */
export async function finishLoad(execute: Execute, engine: Engine, finishing: Finishing): Promise<void> {
  await migrate(execute, engine);
  const queries = createQueries(engine, execute);
  await indexPassages(queries, finishing);
  await indexChunks(queries, finishing);
  const tx = createTx(engine, execute, { seq: 0, events: 0, runnable: false });
  // A client that resumes with an earlier number learns that it is gone, and reads the state again.
  const last = await tx.events.getEventCounter();
  await execute('delete from events', []);
  await execute(`update counters set value = ${nextEpoch(last, Date.now())} where name = 'event'`, []);
  // These processes are from another time, maybe from another machine.
  await execute('update runs set pid = null, pid_started = null', []);
  if (engine === 'postgres') {
    await execute(
      `select setval('numbers', 1 + greatest((select max(value) from counters), (select max(seq) from messages),
         (select max(seq) from runs), (select max(seq) from passages), (select max(last_claim) from trees)))`,
      [],
    );
  }
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
      .selectAll()
      .where((eb) => eb(eb.refTuple('agentId', 'seq'), '>', eb.tuple(p.agentId, p.seq)))
      .orderBy('agentId')
      .orderBy('seq')
      .limit(p.limit),
  );
  const insert = run((p: { rowid: number; words: string }) =>
    db.insertInto('passage_words').values({ rowid: p.rowid, words: p.words }),
  );
  let before: Passage | null = null;
  let current: Passage | null = null;
  const indexCurrent = async (after: Passage | null) => {
    if (!current) return;
    const beside = [before, after].filter((one) => one?.agentId === current?.agentId);
    const words = passageWords(
      current,
      beside.filter((one) => one !== null),
    );
    await insert({ rowid: current.seq, words: indexedWords(engine, scopedWords(current.agentId, words)) });
  };
  for (let last = { agentId: '', seq: 0 }; ; ) {
    const rows: Passage[] = await page({ agentId: last.agentId, seq: last.seq, limit: BATCH });
    for (const row of rows) {
      await indexCurrent(row);
      [before, current] = [current, row];
    }
    const end = rows.at(-1);
    if (!end) return indexCurrent(null);
    last = end;
  }
}

async function indexChunks({ db, all, engine, fetch }: Queries, { chunkWords }: Finishing): Promise<void> {
  const page = all((p: { id: number; limit: number }) =>
    db
      .selectFrom('chunks')
      .innerJoin('documents', 'documents.id', 'chunks.documentId')
      .select(['chunks.id', 'documents.title', 'chunks.place', 'chunks.text', 'chunks.idx', 'documents.sourceId'])
      .where('chunks.id', '>', p.id)
      .orderBy('chunks.id')
      .limit(p.limit),
  );
  for (let last = 0; ; ) {
    const rows = await page({ id: last, limit: BATCH });
    const end = rows.at(-1);
    if (!end) return;
    const values = rows.map((row) => {
      const { title, words } = indexedColumns(engine, chunkWords(row));
      // PostgreSQL's table has no title column.
      return engine === 'sqlite' ? { rowid: row.id, title, words } : ({ rowid: row.id, words } as never);
    });
    // Together: PostgreSQL updates its count of chunks at each statement.
    await fetch(db.insertInto('chunk_words').values(values));
    last = end.id;
  }
}
