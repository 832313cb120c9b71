import { type ExpressionBuilder, sql } from 'kysely';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Schema } from './schema.ts';
import { passesGate } from './trees.ts';
import type { Claimant, ClaimFilter } from './views.ts';

/** The node drains, or another daemon is this node now. A node that has not registered may claim. */
export function heldByOthers(eb: ExpressionBuilder<Schema, 'runs'>, p: Claimant) {
  return eb
    .selectFrom('nodes')
    .select('nodes.id')
    .where('nodes.id', '=', p.nodeId)
    .where((node) =>
      node.or([node('nodes.drainingAt', 'is not', null), node('nodes.incarnation', '<>', p.incarnation)]),
    );
}

/** Not a suspect, or the only one that would be running. */
export function isAllowed(eb: ExpressionBuilder<Schema, 'runs'>, p: Pick<ClaimFilter, 'nodeId' | 'suspectFrom'>) {
  const suspects = eb
    .selectFrom('runs as suspects')
    .select('suspects.id')
    .where('suspects.state', '=', sql.lit('running'))
    .where('suspects.nodeId', '=', p.nodeId)
    .where('suspects.deaths', '>=', p.suspectFrom ?? 0);
  return eb.or([eb('runs.deaths', '<', p.suspectFrom ?? 0), eb.not(eb.exists(suspects))]);
}

/** Ready, living, not paused, without a live run, and with something to carry. */
export function hasWork(eb: ExpressionBuilder<Schema, 'agents'>) {
  // An offset keeps PostgreSQL from reading what waits for all agents into a hash table to look for one.
  const pending = () =>
    eb
      .selectFrom('deliveries')
      .select('deliveries.messageId')
      .whereRef('deliveries.agentId', '=', 'agents.id')
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '<', 2)
      .limit(1)
      .offset(0);
  const awaited = pending().where((d) => d.or([d('deliveries.kind', '<>', 'news'), d('deliveries.round', '=', 1)]));
  const news = pending().where('deliveries.round', '>=', 0);
  const live = eb
    .selectFrom('runs')
    .select('runs.id')
    .whereRef('runs.agentId', '=', 'agents.id')
    .where('runs.state', 'in', ['created', 'running']);
  const asking = eb
    .selectFrom('requests')
    .innerJoin('agents as asked', 'asked.id', 'requests.recipientId')
    .select('requests.messageId')
    .whereRef('requests.askerId', '=', 'agents.id')
    .where('requests.state', '=', 'open')
    .limit(1)
    .offset(0);
  return eb.and([
    eb('agents.ready', '=', true),
    eb('agents.terminatedAt', 'is', null),
    eb('agents.provider', '<>', EXTERNAL),
    eb('agents.pausedAt', 'is', null),
    passesGate(eb),
    eb.not(eb.exists(live)),
    eb.or([eb.exists(awaited), eb.and([eb.exists(news), eb.not(eb.exists(asking))])]),
  ]);
}
