/** What decides which run carries a delivery. */
export interface Waiting {
  readonly messageId: string;
  readonly authorId: string;
  readonly deliveryKind: 'request' | 'reply' | 'news';
  readonly parentRequest: string | null;
}

export interface Carried<T> {
  /** The request that the run serves. */
  readonly serves: string | null;
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
  const heldBack = new Set<string>();
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

function servedBy(delivery: Waiting): string | null {
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
  const heldBack = new Set<string>();
  return pending.filter((delivery) => {
    if (delivery.deliveryKind !== 'news') heldBack.add(delivery.authorId);
    return delivery.deliveryKind === 'news' && !heldBack.has(delivery.authorId);
  });
}
