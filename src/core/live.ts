import type { AgentId, RunId } from './ids.ts';
import { toLine } from './line.ts';
import { cleanText, shorten } from './text.ts';

/**
 * What a turn does at this moment: pieces of the text that it writes, and the tools that it calls. Never stored. A piece
 * may be missing for a slow reader; the whole text follows in the record. A new attempt voids the text of the last one.
 */
export interface LiveEvent {
  readonly type: 'live_text' | 'live_tool_call' | 'live_tool_result';
  readonly runId: RunId;
  readonly agentId: AgentId;
  readonly attempt: number;
  /** A piece of the text, the arguments of a call, or the beginning of its result. */
  readonly text: string;
  /** The name of the tool, for a call. */
  readonly tool?: string;
  readonly isError?: boolean;
}

export interface Live {
  publish(event: LiveEvent): void;
  /** Returns how to leave. `agentId`: the listener wants only this agent's events, and ignores others. */
  subscribe(listener: (event: LiveEvent) => void, agentId?: AgentId | null): () => void;
}

/** Models write many small pieces: they are joined for this long, up to this many characters. */
const JOIN_MS = 40;
const MOST_CHARACTERS = 4_000;
const MOST_SHOWN = 500;
/** Programs name their own tools. */
const MOST_NAMED = 100;

function brief(text: string, most: number): string {
  return shorten(toLine(text.slice(0, 10 * most)), most);
}

/** Passes live events to the current listeners. Without a listener, nothing is done. */
export function createLive(): Live {
  const listeners = new Set<(event: LiveEvent) => void>();
  const waiting = new Map<RunId, LiveEvent>();
  let isArmed = false;

  function emit(event: LiveEvent): void {
    for (const listener of listeners) listener(event);
  }
  function flush(runId: RunId): void {
    const event = waiting.get(runId);
    waiting.delete(runId);
    if (event) emit(event);
  }
  function flushAll(): void {
    isArmed = false;
    for (const runId of [...waiting.keys()]) flush(runId);
  }

  return {
    publish(event) {
      if (listeners.size === 0) return;
      if (event.type !== 'live_text') {
        flush(event.runId);
        const tool = event.tool === undefined ? {} : { tool: brief(event.tool, MOST_NAMED) };
        return emit({ ...event, ...tool, text: brief(event.text, MOST_SHOWN) });
      }
      const before = waiting.get(event.runId);
      const isSame = before?.attempt === event.attempt;
      if (before && !isSame) flush(event.runId);
      const text = `${isSame ? before.text : ''}${cleanText(event.text)}`;
      waiting.set(event.runId, { ...event, text });
      if (text.length >= MOST_CHARACTERS) return flush(event.runId);
      if (!isArmed) setTimeout(flushAll, JOIN_MS).unref();
      isArmed = true;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
