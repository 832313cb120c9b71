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
}

export function sessionQueries({ db, one, put }: Queries): Sessions {
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
        .onConflict((conflict) =>
          conflict.columns(key).doUpdateSet({ handle: null, lastRunId: null, lastRunSeq: 0, lost: true }),
        ),
    ),
    seeRun: put((p: SeenRun) =>
      db
        .insertInto('sessions')
        .values({ ...fresh(p), lastRunId: p.runId, lastRunSeq: p.runSeq })
        .onConflict((conflict) =>
          conflict.columns(key).doUpdateSet((eb) => ({
            lastRunId: eb.ref('excluded.lastRunId'),
            lastRunSeq: eb.ref('excluded.lastRunSeq'),
            lost: false,
          })),
        ),
    ),
  };
}

/** A session of which nothing is known yet. */
function fresh({ agentId, provider, account, insidePath }: SessionKey) {
  return { agentId, provider, account, insidePath, handle: null, lastRunId: null, lastRunSeq: 0, lost: false };
}
