import { turnOfOthers } from '../core/turn-of-others.ts';
import { chunkQuery, stemsOf } from '../search/search.ts';
import type { ReadOptions, Store } from '../store/store.ts';

export interface WantedWords {
  readonly query: string;
  readonly since: number;
  readonly until: number;
  readonly limit: number;
}

export interface WantedMessages extends WantedWords {
  readonly agentId: string;
}

/** A message in one of the agent's channels, or the final text of one of its runs. */
export interface SaidText {
  /** Null for the text of a run. */
  readonly messageId: string | null;
  readonly channelId: string | null;
  readonly runId: string | null;
  readonly from: string;
  readonly text: string;
  readonly createdAt: number;
}

/** Messages have no index of their own: a search reads the newest, some at a time, so that others get their turn. */
const MOST_READ = 20_000;
const MOST_RUNS = 2000;
const PAGE = 500;
const K1 = 1.2;
const B = 0.75;
/** A word and its stem share a prefix: all but the last letters of the stem. */
const ENDING = 2;
const SAME = 3;

/**
 * What was said in the agent's own channels and DMs, and what its runs ended with: best match first, the newest of
 * equals first. Only the agent's own conversations are read, so nobody else's decide about the order.
 */
export function searchMessages(
  store: Pick<Store, 'read'>,
  wanted: WantedMessages,
  signal?: AbortSignal,
): Promise<SaidText[]> {
  return find(saidTo(store, wanted, { long: true, signal }), wanted);
}

/** What was said in these channels, in the same order. It is not complete if they have more than can be read. */
export async function searchChannels(
  store: Pick<Store, 'read'>,
  channelIds: readonly string[],
  wanted: WantedWords,
  signal?: AbortSignal,
): Promise<{ readonly found: SaidText[]; readonly isComplete: boolean }> {
  const reading = { room: MOST_READ, isComplete: false };
  const texts = saidIn(store, channelIds, wanted, { long: true, signal }, reading);
  const found = await find(texts, wanted);
  return { found, isComplete: reading.isComplete };
}

async function find(texts: AsyncGenerator<SaidText[]>, { query, limit }: WantedWords): Promise<SaidText[]> {
  const { words } = chunkQuery(query);
  const beginnings = words.map((word) => word.slice(0, Math.max(SAME, word.length - ENDING)));
  const found: Counted[] = [];
  let [read, length] = [0, 0];
  for await (const some of texts) {
    for (const said of some) {
      read += 1;
      length += said.text.length;
      const small = said.text.normalize('NFKD').toLowerCase();
      if (!beginnings.some((beginning) => small.includes(beginning))) continue;
      const counts = countWords(said.text, new Set(words));
      if (counts.size > 0) found.push({ said, counts });
    }
    await turnOfOthers();
  }
  return ranked(found, words, { texts: read, mean: length / Math.max(1, read) }).slice(0, limit);
}

interface Counted {
  readonly said: SaidText;
  readonly counts: ReadonlyMap<string, number>;
}

async function* saidTo(
  store: Pick<Store, 'read'>,
  wanted: WantedMessages,
  long: ReadOptions,
): AsyncGenerator<SaidText[]> {
  const { agentId } = wanted;
  const self = await store.read((tx) => tx.agents.getAgent({ id: agentId }));
  const channels = await store.read((tx) => tx.channels.listMemberships({ participantId: agentId }));
  const posted = new Map<string, string>();
  const reading = { room: MOST_READ, isComplete: false, posted };
  yield* saidIn(
    store,
    channels.map(({ channelId }) => channelId),
    wanted,
    long,
    reading,
  );
  const from = self?.handle ?? agentId;
  const runs = await store.read((tx) => tx.runs.listCompleted({ agentId, after: 0, limit: MOST_RUNS }), long);
  yield runs.flatMap(({ id, finalText, endedAt, createdAt }) => {
    const at = endedAt ?? createdAt;
    // A text that was delivered is found as a message.
    if (finalText === null || posted.get(id) === finalText || !isWithin(wanted, finalText, at)) return [];
    return [{ messageId: null, channelId: null, runId: id, from, text: finalText, createdAt: at }];
  });
}

interface Reading {
  /** So many more messages may be read. */
  room: number;
  isComplete: boolean;
  /** Texts of messages by the run that sent them. */
  readonly posted?: Map<string, string>;
}

/** A page of each channel in turn, newest first: a long channel does not keep the others from being read. */
async function* saidIn(
  store: Pick<Store, 'read'>,
  channelIds: readonly string[],
  wanted: WantedWords,
  long: ReadOptions,
  reading: Reading,
): AsyncGenerator<SaidText[]> {
  let open = channelIds.map((channelId) => ({ channelId, before: Number.MAX_SAFE_INTEGER }));
  while (open.length > 0) {
    const next: typeof open = [];
    for (const { channelId, before } of open) {
      if (reading.room <= 0) return;
      const rows = await store.read((tx) => tx.messages.listChannelMessages({ channelId, before, limit: PAGE }), long);
      reading.room -= rows.length;
      for (const { runId, text } of rows) if (runId !== null) reading.posted?.set(runId, text);
      yield rows
        .filter(({ text, createdAt, deletedAt }) => deletedAt === null && isWithin(wanted, text, createdAt))
        .map(({ id, runId, handle, text, createdAt }) => ({
          messageId: id,
          channelId,
          runId,
          from: handle,
          text,
          createdAt,
        }));
      const last = rows.at(-1);
      if (last && rows.length === PAGE && last.createdAt >= wanted.since) next.push({ channelId, before: last.seq });
    }
    open = next;
  }
  reading.isComplete = true;
}

function isWithin({ since, until }: WantedWords, text: string, at: number): boolean {
  return text !== '' && at >= since && at < until;
}

function countWords(text: string, words: ReadonlySet<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const stem of stemsOf(text)) if (words.has(stem)) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return counts;
}

/** BM25 among the texts that were read. */
function ranked(
  found: readonly Counted[],
  words: readonly string[],
  { texts, mean }: { readonly texts: number; readonly mean: number },
): SaidText[] {
  const rarity = new Map(
    words.map((word) => {
      const n = found.filter(({ counts }) => counts.has(word)).length;
      return [word, Math.log(1 + (texts - n + 0.5) / (n + 0.5))];
    }),
  );
  const scoreOf = ({ said, counts }: Counted) => {
    const norm = K1 * (1 - B + (B * said.text.length) / Math.max(1, mean));
    return [...counts].reduce((sum, [word, n]) => sum + ((rarity.get(word) ?? 0) * n * (K1 + 1)) / (n + norm), 0);
  };
  return found
    .map((one) => ({ said: one.said, score: scoreOf(one) }))
    .sort((a, b) => b.score - a.score || b.said.createdAt - a.said.createdAt)
    .map(({ said }) => said);
}
