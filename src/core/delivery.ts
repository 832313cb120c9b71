/** What decides which run carries a delivery. */
export interface Waiting {
  readonly message_id: string;
  readonly author_id: string;
  readonly delivery_kind: 'request' | 'reply' | 'news';
  readonly parent_request: string | null;
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
  const first = pending.find((delivery) => delivery.delivery_kind !== 'news');
  const serves = first ? servedBy(first) : null;
  const heldBack = new Set<string>();
  const deliveries = pending.filter((delivery) => {
    const fits =
      delivery === first ||
      delivery.delivery_kind === 'news' ||
      (delivery.delivery_kind === 'reply' && first?.delivery_kind === 'reply' && servedBy(delivery) === serves);
    if (fits && !heldBack.has(delivery.author_id)) return true;
    heldBack.add(delivery.author_id);
    return false;
  });
  return { serves, deliveries };
}

function servedBy(delivery: Waiting): string | null {
  return delivery.delivery_kind === 'request' ? delivery.message_id : delivery.parent_request;
}

/**
 * Whether the final text of a run that carries this is sent back to whoever broadcast: only when it carries nothing else but
 * notices, so that nothing of another conversation gets there.
 */
export function answersBroadcasts(
  carried: readonly { readonly broadcast: string | null; readonly kind: string; readonly delivery_kind: string }[],
): boolean {
  return (
    carried.some(({ broadcast }) => broadcast !== null) &&
    carried.every(
      ({ broadcast, kind, delivery_kind }) => delivery_kind === 'news' && (broadcast !== null || kind === 'notice'),
    )
  );
}

/** The news that a busy agent may read now: all but what would overtake a request or reply of the same author. */
export function chooseNews<T extends Pick<Waiting, 'author_id' | 'delivery_kind'>>(pending: readonly T[]): T[] {
  const heldBack = new Set<string>();
  return pending.filter((delivery) => {
    if (delivery.delivery_kind !== 'news') heldBack.add(delivery.author_id);
    return delivery.delivery_kind === 'news' && !heldBack.has(delivery.author_id);
  });
}
