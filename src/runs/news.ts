import { setTimeout as pause } from 'node:timers/promises';
import { MOST_COUNTED } from '../core/counts.ts';
import { answersBroadcasts, chooseNews } from '../core/delivery.ts';
import { SubstratError } from '../core/errors.ts';
import { renderMessage } from '../core/header.ts';
import type { Run } from '../core/run.ts';
import { MAX_TEXT } from '../core/text.ts';
import type { Arrived, News } from '../providers/provider.ts';
import type { DeliveryView, SizedDelivery, Store } from '../store/store.ts';
import { type ActiveAttempt, advance, type Progress, record } from './attempt.ts';
import { toCarriedMessage } from './start.ts';
import type { Tx } from './tx.ts';

/** A running turn gets at most this many messages and about this many characters at once; the rest follows. */
const PAGE = MOST_COUNTED;
const CHARACTERS = MAX_TEXT;
/** Many commits are about other agents: the inbox is looked at no more often than this. */
const PAUSE_MS = 50;

/** Gives the next page of pending messages to a running turn, which carries them from then on. */
export async function giveNews(
  tx: Tx,
  { id: runId, agentId }: Pick<Run, 'id' | 'agentId'>,
  choose: (pending: readonly SizedDelivery[]) => readonly SizedDelivery[] = chooseNews,
): Promise<DeliveryView[]> {
  const chosen = onePage(choose(await tx.deliveries.listPendingSizes({ agentId, limit: PAGE })));
  for (const { messageId } of chosen) await tx.deliveries.injectDelivery({ messageId, agentId, runId });
  if (chosen.length === 0) return [];
  const ids = new Set(chosen.map(({ messageId }) => messageId));
  return (await tx.deliveries.listCarried({ runId })).filter(({ messageId }) => ids.has(messageId));
}

/** Never empty if there is a message, however long it is. */
function onePage<T extends { readonly size: number }>(deliveries: readonly T[]): T[] {
  let room = CHARACTERS;
  return deliveries.filter(({ size }) => {
    const fits = room > 0;
    room -= size;
    return fits;
  });
}

interface FeedOptions {
  readonly store: Store;
  readonly attempt: ActiveAttempt;
  readonly clock: () => number;
  /** A write that only takes effect while the attempt holds its run. */
  readonly write: <T>(work: (tx: Tx, run: Run) => Promise<T>) => Promise<T>;
  readonly log: { warn(details: object, message: string): void };
}

export interface NewsFeed extends News {
  /** Ends it. What was given and not taken is then in `attempt.untaken`. */
  close(): Promise<void>;
}

/**
 * The news that arrives during an attempt, for a provider that inserts it into the turn. It is given in the order of
 * `check_inbox`, by the same rule, and marked before it is given: what one of them gives, the other does not.
 */
export function openNewsFeed({ store, attempt, clock, write, log }: FeedOptions): NewsFeed {
  const { agentId, runId } = attempt;
  let isClosed = false;
  let changed = Promise.withResolvers<void>();
  let unsubscribe: (() => void) | null = null;
  let giving: Promise<Arrived | null> = Promise.resolve(null);

  async function give(): Promise<Arrived | null> {
    const candidates = await store.read(async (tx) => {
      const pending = await tx.deliveries.listPendingSizes({ agentId, limit: PAGE });
      const news = chooseNews(pending).map(({ messageId }) => messageId);
      return news.length > 0 && (await isPrivate(tx)) ? [] : news;
    });
    if (candidates.length === 0) return null;
    // Until the program has them. A write whose outcome is unknown may have marked them.
    for (const id of candidates) attempt.untaken.add(id);
    const { given, progress } = await write((tx, run) => insert(tx, run));
    const ids = given.map(({ messageId }) => messageId);
    for (const id of candidates) if (!ids.includes(id)) attempt.untaken.delete(id);
    if (given.length === 0) return null;
    advance(attempt, progress);
    return {
      text: textOf(given),
      taken: () => {
        for (const id of ids) attempt.untaken.delete(id);
      },
    };
  }

  /** The final text of a run that answers broadcasts goes to others: nothing of another conversation may be in it. */
  const isPrivate = async (tx: Tx) => answersBroadcasts(await tx.deliveries.listCarried({ runId }));

  async function insert(tx: Tx, run: Run): Promise<{ given: DeliveryView[]; progress: Progress | null }> {
    if (await isPrivate(tx)) return { given: [], progress: null };
    const given = await giveNews(tx, run);
    if (given.length === 0) return { given, progress: null };
    const now = clock();
    const messageIds = given.map(({ messageId }) => messageId);
    await tx.events.appendEvent({
      type: 'delivery_updated',
      at: now,
      agentId,
      data: { agentId, runId, state: 'injected', messageIds },
    });
    return { given, progress: await record(tx, attempt, [{ type: 'user_message', content: textOf(given) }], now) };
  }

  async function next(): Promise<Arrived | null> {
    unsubscribe ??= store.onChange(() => changed.resolve());
    while (!isClosed) {
      changed = Promise.withResolvers<void>();
      giving = give();
      try {
        const arrived = await giving;
        if (arrived) return arrived;
      } catch (error) {
        if (error instanceof SubstratError && error.code === 'fenced') return null;
        log.warn({ runId, error: (error as Error).message }, 'news could not be given to a running turn');
      }
      if (isClosed) return null;
      await changed.promise;
      await pause(PAUSE_MS);
    }
    return null;
  }

  return {
    next,
    close: async () => {
      isClosed = true;
      unsubscribe?.();
      changed.resolve();
      await giving.catch(() => null);
    },
  };
}

function textOf(given: readonly DeliveryView[]): string {
  return given.map((delivery) => renderMessage(toCarriedMessage(delivery))).join('\n\n');
}

/** What the program did not take waits again, for this run's next attempt or for another run. */
export async function returnUntaken(tx: Tx, { runId, agentId, untaken }: ActiveAttempt): Promise<void> {
  if (untaken.size === 0) return;
  for (const { messageId } of await tx.deliveries.listCarried({ runId })) {
    if (untaken.has(messageId)) await tx.deliveries.returnDelivery({ messageId, agentId });
  }
}
