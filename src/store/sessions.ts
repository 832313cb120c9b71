import type { SessionKey } from '../core/session.ts';
import type { Queries } from './query.ts';
import type { Sessions } from './tx.ts';
import type { SeenRun } from './views.ts';

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
        .values({
          agentId: p.agentId,
          provider: p.provider,
          account: p.account,
          insidePath: p.insidePath,
          handle: p.handle,
          lastRunId: null,
          lastRunSeq: 0,
          lost: false,
        })
        .onConflict((conflict) => conflict.columns(key).doUpdateSet((eb) => ({ handle: eb.ref('excluded.handle') }))),
    ),
    loseSession: put((p: SessionKey) =>
      db
        .insertInto('sessions')
        .values({
          agentId: p.agentId,
          provider: p.provider,
          account: p.account,
          insidePath: p.insidePath,
          handle: null,
          lastRunId: null,
          lastRunSeq: 0,
          lost: true,
        })
        .onConflict((conflict) =>
          conflict.columns(key).doUpdateSet({ handle: null, lastRunId: null, lastRunSeq: 0, lost: true }),
        ),
    ),
    seeRun: put((p: SeenRun) =>
      db
        .insertInto('sessions')
        .values({
          agentId: p.agentId,
          provider: p.provider,
          account: p.account,
          insidePath: p.insidePath,
          handle: null,
          lastRunId: p.runId,
          lastRunSeq: p.runSeq,
          lost: false,
        })
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
