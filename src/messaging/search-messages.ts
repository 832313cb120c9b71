import { turnOfOthers } from '../core/turn-of-others.ts';
import { chunkQuery, stemsOf, withoutAccents } from '../search/search.ts';
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
const MOST_CHARACTERS = 20_000_000;
const MOST_RUNS = 2000;
/** A message may have a million characters, and all of a page are in memory at once. */
const PAGE = 50;
/** A text is searched in pieces of this length, and others get their turn after so many milliseconds. */
const PIECE = 5_000;
const BUSY_MS = 10;
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
  const reading = { room: MOST_READ, characters: MOST_CHARACTERS, isComplete: false };
  const texts = saidIn(store, channelIds, wanted, { long: true, signal }, reading);
  const found = await find(texts, wanted);
  return { found, isComplete: reading.isComplete };
}

async function find(texts: AsyncGenerator<SaidText[]>, { query, limit }: WantedWords): Promise<SaidText[]> {
  const { words } = chunkQuery(query);
  const wanted = new Set(words);
  const beginnings = [...wanted].map((word) => word.slice(0, Math.max(SAME, word.length - ENDING)));
  const found: Counted[] = [];
  let [read, length, since] = [0, 0, performance.now()];
  for await (const some of texts) {
    for (const said of some) {
      read += 1;
      length += said.text.length;
      const counts = new Map<string, number>();
      for (const piece of piecesOf(said.text)) {
        const small = withoutAccents(piece).toLowerCase();
        if (beginnings.some((beginning) => small.includes(beginning))) countWords(piece, wanted, counts);
        if (performance.now() - since < BUSY_MS) continue;
        await turnOfOthers();
        since = performance.now();
      }
      if (counts.size > 0) found.push({ said, counts });
    }
  }
  return ranked(found, words, { texts: read, mean: length / Math.max(1, read) }).slice(0, limit);
}

/** Cut between words where there are any. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const space = from + PIECE < text.length ? text.lastIndexOf(' ', from + PIECE) : text.length;
    const end = space > from ? space : from + PIECE;
    yield text.slice(from, end);
    from = end;
  }
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
  const reading = { room: MOST_READ, characters: MOST_CHARACTERS, isComplete: false, posted };
  yield* saidIn(
    store,
    channels.map(({ channelId }) => channelId),
    wanted,
    long,
    reading,
  );
  const from = self?.handle ?? agentId;
  for (let [before, left] = [Number.MAX_SAFE_INTEGER, MOST_RUNS]; left > 0 && reading.characters > 0; left -= PAGE) {
    const runs = await store.read((tx) => tx.runs.listCompleted({ agentId, after: 0, before, limit: PAGE }), long);
    yield runs.flatMap(({ id, finalText, endedAt, createdAt }) => {
      const at = endedAt ?? createdAt;
      reading.characters -= finalText?.length ?? 0;
      // A text that was delivered is found as a message.
      if (finalText === null || posted.get(id) === finalText || !isWithin(wanted, finalText, at)) return [];
      return [{ messageId: null, channelId: null, runId: id, from, text: finalText, createdAt: at }];
    });
    const last = runs.at(-1);
    if (!last || runs.length < PAGE) return;
    before = last.seq;
  }
}

interface Reading {
  /** So many more messages, with so many characters, may be read. */
  room: number;
  characters: number;
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
      if (reading.room <= 0 || reading.characters <= 0) return;
      const rows = await store.read((tx) => tx.messages.listChannelMessages({ channelId, before, limit: PAGE }), long);
      reading.room -= rows.length;
      for (const { runId, text } of rows) {
        reading.characters -= text.length;
        if (runId !== null) reading.posted?.set(runId, text);
      }
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

function countWords(text: string, words: ReadonlySet<string>, counts: Map<string, number>): void {
  for (const stem of stemsOf(text)) if (words.has(stem)) counts.set(stem, (counts.get(stem) ?? 0) + 1);
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
