import type { AgentId, MessageId, ParticipantId, RunId } from './ids.ts';

export type DeliveryKind = 'request' | 'reply' | 'news';
export type DeliveryState = 'pending' | 'injected' | 'acknowledged' | 'dead';

/**
 * Whether the next run of the agent carries a delivery, and whether the delivery wakes the agent. free: depends on
 * the kind. turn: posted by a person in a channel where it is the agent's turn; wakes it even while it waits for a
 * reply. held: waits for the agent's turn, or for the other replies to a broadcast; not visible yet. quiet: carried
 * by the next run, wakes nobody.
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

/** The fields that decide which run carries a delivery. */
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
 * Chooses what the next run of an agent carries from everything pending, in order. The first request or reply decides
 * what the run serves: that request, or the request for which the answered question was asked. Replies for the same
 * request and news are carried too. A message left for a later run holds back everything that its author sent after
 * it, because two participants see each other's messages in the order of posting. Only requests and replies may
 * overtake news.
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
 * Whether the final text of a run that carries this is sent back to the broadcaster. True only if the run carries
 * nothing but broadcasts and notices, so that nothing leaks from another conversation.
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

/** Whether only reminders and changed states of agents caused a run: such runs must not cause each other forever. */
export function isAutomatic(carried: readonly { readonly cause: string | null }[]): boolean {
  return carried.length > 0 && carried.every(({ cause }) => cause === 'reminder' || cause === 'state');
}

/**
 * What a filter lets through. Of an author it takes what comes before the first that does not match, so that two participants see each
 * other's messages in the order of posting.
 */
export function takeMatching<T extends Pick<Waiting, 'authorId'>>(
  pending: readonly T[],
  matches: (delivery: T) => boolean,
): T[] {
  const heldBack = new Set<ParticipantId>();
  return pending.filter((delivery) => {
    if (!matches(delivery)) heldBack.add(delivery.authorId);
    return !heldBack.has(delivery.authorId);
  });
}

/**
 * The news that a busy agent may read now: everything that does not overtake a request or reply from the same author.
 */
export function chooseNews<T extends Pick<Waiting, 'authorId' | 'deliveryKind'>>(pending: readonly T[]): T[] {
  const heldBack = new Set<ParticipantId>();
  return pending.filter((delivery) => {
    if (delivery.deliveryKind !== 'news') heldBack.add(delivery.authorId);
    return delivery.deliveryKind === 'news' && !heldBack.has(delivery.authorId);
  });
}
