import type { AgentId, MessageId } from '../core/ids.ts';
import type { Subscription } from '../core/subscription.ts';
import type { Queries } from './query.ts';

export interface Subscriptions {
  insertSubscription(subscription: Subscription): Promise<void>;
  getSubscription(p: { id: string }): Promise<Subscription | null>;
  /** Of an agent, in order. */
  listSubscriptions(p: { agentId: AgentId }): Promise<Subscription[]>;
  /** About an agent, in order. */
  listSubscribers(p: { subjectId: AgentId }): Promise<Subscription[]>;
  setNotified(p: { id: string; messageId: MessageId }): Promise<void>;
  deleteSubscription(p: { id: string }): Promise<void>;
}

export function subscriptionQueries({ db, one, all, put, change }: Queries): Subscriptions {
  const subscriptions = () => db.selectFrom('subscriptions').selectAll();
  return {
    insertSubscription: put((p: Subscription) =>
      db.insertInto('subscriptions').values({
        id: p.id,
        agentId: p.agentId,
        subjectId: p.subjectId,
        fromState: p.fromState,
        toState: p.toState,
        once: p.once,
        chainDepth: p.chainDepth,
        payerId: p.payerId,
        messageId: p.messageId,
        createdAt: p.createdAt,
      }),
    ),
    getSubscription: one((p: { id: string }) => subscriptions().where('id', '=', p.id)),
    listSubscriptions: all((p: { agentId: AgentId }) =>
      subscriptions().where('agentId', '=', p.agentId).orderBy('createdAt').orderBy('id'),
    ),
    listSubscribers: all((p: { subjectId: AgentId }) =>
      subscriptions().where('subjectId', '=', p.subjectId).orderBy('createdAt').orderBy('id'),
    ),
    setNotified: change('subscription', (p: { id: string; messageId: MessageId }) =>
      db.updateTable('subscriptions').set({ messageId: p.messageId }).where('id', '=', p.id),
    ),
    deleteSubscription: change('subscription', (p: { id: string }) =>
      db.deleteFrom('subscriptions').where('id', '=', p.id),
    ),
  };
}
