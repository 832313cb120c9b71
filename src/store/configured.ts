import type { Configured } from '../core/configured.ts';
import type { Queries } from './query.ts';

/** What was made from the configuration. */
export interface ConfiguredThings {
  getConfigured(p: { kind: Configured['kind']; key: string }): Promise<Configured | null>;
  /** By key. */
  listConfigured(p: { kind: Configured['kind'] }): Promise<Configured[]>;
  putConfigured(configured: Configured): Promise<void>;
  /** Returns whether the agent was made from the configuration; its key stays. */
  tryForgetAgent(p: { agentId: string }): Promise<boolean>;
}

export function configuredQueries({ db, one, all, put, attempt }: Queries): ConfiguredThings {
  return {
    getConfigured: one((p: { kind: Configured['kind']; key: string }) =>
      db.selectFrom('configured').selectAll().where('kind', '=', p.kind).where('key', '=', p.key),
    ),
    listConfigured: all((p: { kind: Configured['kind'] }) =>
      db.selectFrom('configured').selectAll().where('kind', '=', p.kind).orderBy('key'),
    ),
    putConfigured: put((p: Configured) =>
      db
        .insertInto('configured')
        .values({ kind: p.kind, key: p.key, agentId: p.agentId, applied: p.applied, at: p.at })
        .onConflict((conflict) =>
          conflict.columns(['kind', 'key']).doUpdateSet((eb) => ({
            agentId: eb.ref('excluded.agentId'),
            applied: eb.ref('excluded.applied'),
            at: eb.ref('excluded.at'),
          })),
        ),
    ),
    tryForgetAgent: attempt((p: { agentId: string }) =>
      db.updateTable('configured').set({ agentId: null }).where('agentId', '=', p.agentId),
    ),
  };
}
