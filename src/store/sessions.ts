import type { AgentId } from '../core/ids.ts';
import type { Session, SessionKey } from '../core/session.ts';
import type { Queries } from './query.ts';
import type { SeenRun } from './views.ts';

/** Conversations with providers. */
export interface Sessions {
  getSession(key: SessionKey): Promise<Session | null>;
  nameSession(p: SessionKey & { handle: string }): Promise<void>;
  /** The provider does not know it: it has no handle and has seen no run. */
  loseSession(key: SessionKey): Promise<void>;
  seeRun(p: SeenRun): Promise<void>;
  /** Those of an agent, in the order in which they last saw a run. */
  listSessions(p: { agentId: AgentId }): Promise<Session[]>;
  /** The agent was taken over: its session has the name and the files of its snapshot. */
  takeSession(p: SessionKey & { from: string }): Promise<void>;
  /** The same without a snapshot: the session stays behind, and the next turn starts a new one. */
  leaveSession(p: SessionKey & { from: string }): Promise<void>;
}

export function sessionQueries({ db, all, one, put, change }: Queries): Sessions {
  const key = ['agentId', 'provider', 'account', 'insidePath'] as const;
  return {
    getSession: one((p: SessionKey) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('agentId', '=', p.agentId)
        .where('provider', '=', p.provider)
        .where('account', '=', p.account)
        .where('insidePath', '=', p.insidePath),
    ),
    nameSession: put((p: SessionKey & { handle: string }) =>
      db
        .insertInto('sessions')
        .values({ ...fresh(p), handle: p.handle })
        .onConflict((conflict) => conflict.columns(key).doUpdateSet((eb) => ({ handle: eb.ref('excluded.handle') }))),
    ),
    loseSession: put((p: SessionKey) =>
      db
        .insertInto('sessions')
        .values({ ...fresh(p), lost: true })
        .onConflict((conflict) => conflict.columns(key).doUpdateSet({ ...nothing, lost: true })),
    ),
    seeRun: put((p: SeenRun) =>
      db
        .insertInto('sessions')
        .values({ ...fresh(p), lastRunId: p.runId, lastRunSeq: p.runSeq, snapshot: p.snapshot })
        .onConflict((conflict) =>
          conflict.columns(key).doUpdateSet((eb) => ({
            lastRunId: eb.ref('excluded.lastRunId'),
            lastRunSeq: eb.ref('excluded.lastRunSeq'),
            lost: false,
            snapshot: eb.ref('excluded.snapshot'),
            snapshotHandle: eb.ref('sessions.handle'),
            takenFrom: null,
          })),
        ),
    ),
    listSessions: all((p: { agentId: string }) =>
      db.selectFrom('sessions').selectAll().where('agentId', '=', p.agentId).orderBy('lastRunSeq').orderBy('provider'),
    ),
    takeSession: change('session', (p: SessionKey & { from: string }) =>
      db
        .updateTable('sessions')
        .set((eb) => ({ handle: eb.ref('snapshotHandle'), takenFrom: p.from }))
        .where('agentId', '=', p.agentId)
        .where('provider', '=', p.provider)
        .where('account', '=', p.account)
        .where('insidePath', '=', p.insidePath),
    ),
    leaveSession: put((p: SessionKey & { from: string }) =>
      db
        .insertInto('sessions')
        .values({ ...fresh(p), takenFrom: p.from })
        .onConflict((conflict) =>
          conflict.columns(key).doUpdateSet((eb) => ({ ...nothing, takenFrom: eb.ref('excluded.takenFrom') })),
        ),
    ),
  };
}

/** A session that has not begun. */
function fresh({ agentId, provider, account, insidePath }: SessionKey) {
  return { agentId, provider, account, insidePath, ...nothing, lost: false, takenFrom: null };
}

const nothing = { handle: null, lastRunId: null, lastRunSeq: 0, snapshot: null, snapshotHandle: null };
