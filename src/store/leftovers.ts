import type { AgentId, NodeId, WorkspaceId } from '../core/ids.ts';
import type { Leftover } from '../core/leftover.ts';
import type { Queries } from './query.ts';

export interface Leftovers {
  /** The agent leaves its node, where its home stays. */
  leaveHome(p: { agentId: AgentId; at: number }): Promise<void>;
  /** The git workspace was deleted, and what was pushed of it stays. */
  leaveRef(p: { workspaceId: WorkspaceId }): Promise<void>;
  /** Oldest first. */
  listLeftovers(p: { site: NodeId | string; limit: number }): Promise<Leftover[]>;
  deleteLeftover(p: Pick<Leftover, 'site' | 'agentId'>): Promise<void>;
}

export function leftoverQueries({ db, all, put }: Queries): Leftovers {
  return {
    leaveHome: put((p: { agentId: string; at: number }) =>
      db
        .insertInto('leftovers')
        .columns(['site', 'agentId', 'hash', 'at'])
        .expression((eb) =>
          eb
            .selectFrom('agents')
            .select(({ ref, cast, val, lit }) => [
              ref('nodeId').as('site'),
              ref('id').as('agentId'),
              cast<string | null>(lit(null), 'text').as('hash'),
              cast<number>(val(p.at), 'bigint').as('at'),
            ])
            .where('id', '=', p.agentId),
        )
        .onConflict((conflict) =>
          conflict.columns(['site', 'agentId']).doUpdateSet((eb) => ({ at: eb.ref('excluded.at') })),
        ),
    ),
    leaveRef: put((p: { workspaceId: string }) =>
      db
        .insertInto('leftovers')
        .columns(['site', 'agentId', 'hash', 'at'])
        .expression((eb) =>
          eb
            .selectFrom('wips')
            .innerJoin('workspaces', 'workspaces.id', 'wips.workspaceId')
            .select(({ ref, fn }) => [
              ref('wips.remote').as('site'),
              ref('wips.agentId').as('agentId'),
              ref('wips.hash').as('hash'),
              fn.coalesce('workspaces.deletedAt', 'workspaces.createdAt').as('at'),
            ])
            .where('wips.workspaceId', '=', p.workspaceId)
            .where('wips.hash', 'is not', null),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['site', 'agentId'])
            .doUpdateSet((eb) => ({ at: eb.ref('excluded.at'), hash: eb.ref('excluded.hash') })),
        ),
    ),
    listLeftovers: all((p: { site: string; limit: number }) =>
      db.selectFrom('leftovers').selectAll().where('site', '=', p.site).orderBy('at').limit(p.limit),
    ),
    deleteLeftover: put((p: { site: string; agentId: string }) =>
      db.deleteFrom('leftovers').where('site', '=', p.site).where('agentId', '=', p.agentId),
    ),
  };
}
