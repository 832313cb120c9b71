import type { Live, LiveEvent } from '../core/live.ts';
import type { Store } from '../store/store.ts';

/** How often a node with readers says so, and how long others believe it. */
const RENEW_MS = 5_000;
const BELIEVED_MS = 12_000;
/** Characters of one whisper: a character may take four bytes, and escapes more. */
const PIECE = 1_000;
/** A node that follows more agents than this follows all. */
const MOST_AGENTS = 100;

/** Between nodes: somebody at a node follows these agents (null: all), or what a turn does at this moment. */
type Whisper = { readonly follows: string; readonly agents: readonly string[] | null } | { readonly live: LiveEvent };

export interface Elsewhere {
  /** Readers of this node: they get what turns of all nodes do. */
  readonly subscribe: Live['subscribe'];
  stop(): void;
}

/**
 * Live events of agents on other nodes. A node sends them only while a reader of another node follows the agent. They
 * are lost when the database is busy or gone, as for a reader that is slow.
 */
export function followElsewhere(
  live: Live,
  store: Pick<Store, 'whisper' | 'onWhisper'>,
  nodeId: string,
  believedMs = BELIEVED_MS,
): Elsewhere {
  const readers = new Map<(event: LiveEvent) => void, string | null>();
  /** The nodes with readers, what they follow, and until when. */
  const followers = new Map<string, { readonly agents: readonly string[] | null; readonly forget: NodeJS.Timeout }>();
  let hush: (() => void) | null = null;
  let renewal: NodeJS.Timeout | undefined;

  const whisper = (what: Whisper): void => store.whisper(JSON.stringify(what));
  const follow = (): void => {
    const wanted = [...new Set(readers.values())];
    const agents = wanted.filter((agentId) => agentId !== null);
    whisper({ follows: nodeId, agents: agents.length < wanted.length || agents.length > MOST_AGENTS ? null : agents });
  };
  const forget = (node: string): void => {
    clearTimeout(followers.get(node)?.forget);
    followers.delete(node);
    if (followers.size === 0) {
      hush?.();
      hush = null;
    }
  };
  const forward = (event: LiveEvent): void => {
    const isFollowed = [...followers.values()].some(({ agents }) => agents?.includes(event.agentId) ?? true);
    if (!isFollowed) return;
    for (let at = 0; at === 0 || at < event.text.length; at += PIECE) {
      whisper({ live: { ...event, text: event.text.slice(at, at + PIECE) } });
    }
  };
  const leave = store.onWhisper((text) => {
    const heard = JSON.parse(text) as Whisper;
    if ('live' in heard) {
      for (const [reader] of readers) reader(heard.live);
      return;
    }
    const { follows: node, agents } = heard;
    clearTimeout(followers.get(node)?.forget);
    followers.set(node, { agents, forget: setTimeout(() => forget(node), believedMs).unref() });
    hush ??= live.subscribe(forward);
  });

  return {
    subscribe: (reader, agentId = null) => {
      const hushHere = live.subscribe(reader);
      readers.set(reader, agentId);
      follow();
      renewal ??= setInterval(follow, RENEW_MS).unref();
      return () => {
        hushHere();
        readers.delete(reader);
        if (readers.size > 0) return;
        clearInterval(renewal);
        renewal = undefined;
      };
    },
    stop: () => {
      leave();
      clearInterval(renewal);
      for (const node of [...followers.keys()]) forget(node);
    },
  };
}
