import * as z from 'zod';
import { cleanText, MAX_TEXT } from '../../core/text.ts';
import type { Said } from '../cli.ts';
import { createCalls, toolCall } from './calls.ts';

const chunk = z.object({
  messageId: z.string().nullish(),
  content: z.looseObject({ type: z.string(), text: z.string().optional() }),
});
const usage = z.object({ cost: z.object({ amount: z.number().nonnegative(), currency: z.string() }).nullish() });
const notification = z.object({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string() }),
});

/** Reads the `session/update` notifications of one turn. */
export function createUpdates() {
  const calls = createCalls();
  let session: string | null = null;
  let words = '';
  let messageId: string | null = null;
  let last = '';
  /** The cost of the whole session, as the program counts it. */
  let cost: number | null = null;

  /** The message that was being written is complete. */
  function complete(): Said[] {
    const text = words;
    words = '';
    messageId = null;
    if (text.trim() === '') return [];
    last = text;
    return [{ type: 'text', text }];
  }

  function said(part: z.infer<typeof chunk>): Said[] {
    const text = part.content.type === 'text' ? cleanText(part.content.text ?? '') : '';
    const before = part.messageId && messageId && part.messageId !== messageId ? complete() : [];
    messageId = part.messageId ?? messageId;
    if (text === '') return before;
    if (words.length < MAX_TEXT) words += text;
    return [...before, { type: 'delta', text }];
  }

  function read({ sessionUpdate, ...rest }: { readonly sessionUpdate: string }): Said[] {
    switch (sessionUpdate) {
      case 'agent_message_chunk': {
        const { data } = chunk.safeParse(rest);
        return data ? said(data) : [];
      }
      case 'tool_call':
      case 'tool_call_update': {
        const { data } = toolCall.safeParse(rest);
        return data ? [...complete(), ...calls.heard(data)] : [];
      }
      case 'agent_thought_chunk':
      case 'plan':
        return complete();
      case 'usage_update': {
        const { data } = usage.safeParse(rest);
        if (data?.cost?.currency === 'USD') cost = data.cost.amount;
        return [];
      }
      default:
        return [];
    }
  }

  return {
    /** From now on, updates of this session are the turn's; before it they repeat its earlier turns. */
    begin(id: string): void {
      session = id;
    },
    heard(params: unknown): { readonly said: Said[]; readonly isReplay: boolean } {
      const { data } = notification.safeParse(params);
      if (!data) return { said: [], isReplay: false };
      const { sessionUpdate } = data.update;
      if (session !== null) return { said: data.sessionId === session ? read(data.update) : [], isReplay: false };
      if (sessionUpdate === 'usage_update') read(data.update);
      return { said: [], isReplay: /^(user|agent)_message|^tool_call$/.test(sessionUpdate) };
    },
    /** A call about which a permission is asked may not have been announced. */
    asked: (params: unknown): Said[] => {
      const { data } = toolCall.safeParse(params);
      return data ? [...complete(), ...calls.heard(data)] : [];
    },
    cost: () => cost,
    /** What is left at the end of the turn, and the final text: the last message. */
    end(): { readonly said: Said[]; readonly text: string } {
      const rest = complete();
      return { said: [...rest, ...calls.rest()], text: last };
    },
  };
}
