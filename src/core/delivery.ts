import type { AgentId, MessageId, ParticipantId, RunId } from './ids.ts';

export type DeliveryKind = 'request' | 'reply' | 'news';
export type DeliveryState = 'pending' | 'injected' | 'acknowledged' | 'dead';

/**
 * Whether the next run of its agent carries a delivery, and whether it wakes the agent.
 * free: as its kind says.
 * turn: said by a person in a channel where it is the agent's turn; wakes it even while it waits for somebody.
 * held: waits for the agent's turn, or for the other replies to a broadcast. Nobody sees it yet.
 * quiet: comes along with the next run and wakes nobody.
 */
export type Round = 'free' | 'turn' | 'held' | 'quiet';

/** A message on its way to one agent. */
export interface Delivery {
  readonly messageId: MessageId;
  readonly agentId: AgentId;
  readonly seq: number;
  readonly kind: DeliveryKind;
  readonly state: DeliveryState;
  readonly runId: RunId | null;
  readonly round: Round;
}

/** What decides which run carries a delivery. */
export interface Waiting {
  readonly messageId: MessageId;
  readonly authorId: ParticipantId;
  readonly deliveryKind: DeliveryKind;
  readonly parentRequest: MessageId | null;
}

export interface Carried<T> {
  /** The request that the run serves. */
  readonly serves: MessageId | null;
  readonly deliveries: readonly T[];
}

/**
 * What the next run of an agent carries, from all that is pending, in order. The first request or reply decides what
 * the run serves: that request, or the one for which the answered question was asked. Replies for the same request come
 * along, and so does news. What is left for a later run holds back whatever its author sent after it, because the order
 * between two participants is the order of posting; only requests and replies may overtake news.
 */
export function chooseCarried<T extends Waiting>(pending: readonly T[]): Carried<T> {
  const first = pending.find((delivery) => delivery.deliveryKind !== 'news');
  const serves = first ? servedBy(first) : null;
  const heldBack = new Set<ParticipantId>();
  const deliveries = pending.filter((delivery) => {
    const fits =
      delivery === first ||
      delivery.deliveryKind === 'news' ||
      (delivery.deliveryKind === 'reply' && first?.deliveryKind === 'reply' && servedBy(delivery) === serves);
    if (fits && !heldBack.has(delivery.authorId)) return true;
    heldBack.add(delivery.authorId);
    return false;
  });
  return { serves, deliveries };
}

function servedBy(delivery: Waiting): MessageId | null {
  return delivery.deliveryKind === 'request' ? delivery.messageId : delivery.parentRequest;
}

/**
 * Whether the final text of a run that carries this is sent back to whoever broadcast: only when it carries nothing else but
 * notices, so that nothing of another conversation gets there.
 */
export function answersBroadcasts(
  carried: readonly { readonly broadcast: string | null; readonly kind: string; readonly deliveryKind: string }[],
): boolean {
  return (
    carried.some(({ broadcast }) => broadcast !== null) &&
    carried.every(
      ({ broadcast, kind, deliveryKind }) => deliveryKind === 'news' && (broadcast !== null || kind === 'notice'),
    )
  );
}

/** The news that a busy agent may read now: all but what would overtake a request or reply of the same author. */
export function chooseNews<T extends Pick<Waiting, 'authorId' | 'deliveryKind'>>(pending: readonly T[]): T[] {
  const heldBack = new Set<ParticipantId>();
  return pending.filter((delivery) => {
    if (delivery.deliveryKind !== 'news') heldBack.add(delivery.authorId);
    return delivery.deliveryKind === 'news' && !heldBack.has(delivery.authorId);
  });
}
