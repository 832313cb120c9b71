import type { Queries } from './query.ts';

/** The kinds of things that people name by the end of an id. */
export type IdKind = 'agents' | 'budgets' | 'documents' | 'messages' | 'passages' | 'runs' | 'tokens' | 'workspaces';

export interface Ids {
  /** The ids that end like this, newest first, at most 10. Reads a whole index: only for what a person typed. */
  listIdsEnding(p: { kind: IdKind; ending: string }): Promise<string[]>;
}

export function idQueries({ db, all }: Queries): Ids {
  const ending = (kind: IdKind) =>
    all((p: { pattern: string }) =>
      // A union of tables has no common type of rows for Kysely, but all have this column.
      db
        .selectFrom(kind as 'runs')
        .select('id')
        .where('id', 'like', p.pattern)
        .orderBy('id', 'desc')
        .limit(10),
    );
  const queries = {
    agents: ending('agents'),
    budgets: ending('budgets'),
    documents: ending('documents'),
    messages: ending('messages'),
    passages: ending('passages'),
    runs: ending('runs'),
    tokens: ending('tokens'),
    workspaces: ending('workspaces'),
  };
  return {
    listIdsEnding: async (p) => (await queries[p.kind]({ pattern: `%${p.ending.toLowerCase()}` })).map(({ id }) => id),
  };
}
