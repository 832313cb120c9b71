import type { RunId, WorkspaceId } from '../core/ids.ts';
import type { SavedWork, Wip } from '../core/wip.ts';
import type { Queries } from './query.ts';

/** Git workspaces, and what was pushed of them. */
export interface Wips {
  insertWip(wip: Wip): Promise<void>;
  getWip(p: { workspaceId: WorkspaceId }): Promise<Wip | null>;
  /** A turn in it has ended: its state was pushed, or the reason why not. */
  seeWork(p: { work: SavedWork; runId: RunId }): Promise<void>;
  /** It continues on another node, in another directory. */
  moveWip(p: { workspaceId: WorkspaceId }): Promise<void>;
}

export function wipQueries({ db, one, put, change, fetch }: Queries): Wips {
  const saved = put((p: Extract<SavedWork, { problem: null }> & { runId: string }) =>
    db
      .updateTable('wips')
      .set({
        hash: p.hash,
        head: p.head,
        branch: p.branch,
        runId: p.runId,
        saved: true,
        problem: null,
        leftOut: p.leftOut,
      })
      .where('workspaceId', '=', p.workspaceId),
  );
  const unsaved = put((p: { workspaceId: string; problem: string; leftOut: readonly string[] }) =>
    db
      .updateTable('wips')
      .set({ saved: false, problem: p.problem, leftOut: p.leftOut })
      .where('workspaceId', '=', p.workspaceId),
  );
  return {
    insertWip: async (wip) => void (await fetch(db.insertInto('wips').values(wip))),
    getWip: one((p: { workspaceId: string }) =>
      db.selectFrom('wips').selectAll().where('workspaceId', '=', p.workspaceId),
    ),
    seeWork: ({ work, runId }) => (work.problem === null ? saved({ ...work, runId }) : unsaved(work)),
    moveWip: change('git workspace', (p: { workspaceId: string }) =>
      db
        .updateTable('wips')
        .set((eb) => ({ moves: eb('moves', '+', 1) }))
        .where('workspaceId', '=', p.workspaceId),
    ),
  };
}
