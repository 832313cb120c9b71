import type { AgentId, NodeId } from '../core/ids.ts';
import type { ProviderLimit } from '../core/seat.ts';
import type { Queries } from './query.ts';

/** Limits of providers that were reached. */
export interface Limits {
  /** Replaces what was known of the same agent or account. */
  setLimit(limit: ProviderLimit): Promise<void>;
  /** Those that have not ended, by provider. */
  listLimits(p: { nodeId: NodeId; now: number }): Promise<ProviderLimit[]>;
  /** Those that hold for an agent: its own, and those of accounts. */
  listLimitsOf(p: { nodeId: NodeId; agentId: AgentId; now: number }): Promise<ProviderLimit[]>;
  /** Those of an account that agents of other trees reported and that have not ended. */
  listOtherReports(p: {
    nodeId: NodeId;
    provider: string;
    account: string;
    treeId: AgentId;
    now: number;
  }): Promise<ProviderLimit[]>;
  /** Those that ended before a time. */
  forgetLimits(p: { before: number }): Promise<void>;
}

export function limitQueries({ db, all, put }: Queries): Limits {
  const live = (p: { nodeId: string; now: number }) =>
    db.selectFrom('provider_limits').selectAll().where('nodeId', '=', p.nodeId).where('until', '>', p.now);
  return {
    setLimit: put((p: ProviderLimit) =>
      db
        .insertInto('provider_limits')
        .values({
          nodeId: p.nodeId,
          provider: p.provider,
          account: p.account,
          agentId: p.agentId,
          treeId: p.treeId,
          until: p.until,
          reason: p.reason,
          grade: p.grade,
          at: p.at,
        })
        .onConflict((conflict) =>
          conflict.columns(['nodeId', 'provider', 'account', 'agentId']).doUpdateSet((eb) => ({
            until: eb.ref('excluded.until'),
            reason: eb.ref('excluded.reason'),
            grade: eb.ref('excluded.grade'),
            at: eb.ref('excluded.at'),
          })),
        ),
    ),
    listLimits: all((p: { nodeId: string; now: number }) => live(p).orderBy('provider').orderBy('account')),
    listLimitsOf: all((p: { nodeId: string; agentId: string; now: number }) =>
      live(p).where((eb) => eb.or([eb('agentId', '=', ''), eb('agentId', '=', p.agentId)])),
    ),
    listOtherReports: all((p: { nodeId: string; provider: string; account: string; treeId: string; now: number }) =>
      live(p)
        .where('provider', '=', p.provider)
        .where('account', '=', p.account)
        .where('treeId', '<>', p.treeId)
        .where('agentId', '<>', ''),
    ),
    forgetLimits: put((p: { before: number }) => db.deleteFrom('provider_limits').where('until', '<', p.before)),
  };
}
