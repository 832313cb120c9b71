import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Mind } from '../../../test/fake-model/model.ts';
import { type FakeModel, startFakeModel } from '../../../test/fake-model/server.ts';
import type { Conversation, NewEntry } from '../../core/conversation.ts';
import { changed, collect, makeTurn } from '../provider.testsuite.ts';
import type { ProviderEvent, Turn } from '../provider.ts';
import { findCut } from './compact.ts';
import { readEntry } from './content.ts';
import { llmDefaults } from './describe.ts';
import { llm } from './llm.ts';

let model: FakeModel;
let turn: Turn;
const CONTEXT = 8_000;

/** Facts of a prompt. A model that summarizes keeps each of them; one that answers knows those in its prompt. */
const factsIn = (text: string) => [...new Set(text.match(/FACT-\d+=\w+/g) ?? [])];
const isSummary = (system: string) => system.includes('You write the memory');
const mind: Mind = ({ system, messages, body }) => {
  const text = messages.map((message) => message.text).join('\n');
  // Four characters of text are a token, as estimated; a prompt that is too long is refused.
  const input = Math.ceil(JSON.stringify(body).length / 4);
  if (input > CONTEXT) return { status: 400, message: 'prompt is too long: maximum context length exceeded' };
  const facts = factsIn(text).join(' ');
  return { text: isSummary(system) ? `Facts: ${facts}` : `I know ${facts}`, usage: { input, output: 10 } };
};

beforeEach(async () => {
  model = await startFakeModel({ key: 'k', mind });
  turn = makeTurn(mkdtempSync(join(tmpdir(), 'compact-')));
});
afterEach(async () => {
  await model.close();
  rmSync(turn.workspace, { recursive: true });
});

function provider(contextTokens = CONTEXT) {
  const { idleTimeout: _, ...defaults } = llmDefaults;
  const endpoints = { fake: { base_url: `${model.url}/v1`, api_key: 'k', dialect: 'anthropic' as const } };
  const limits = { contextTokens, maxOutputTokens: 500, idleMs: 10_000 };
  return llm({ ...defaults, ...limits, model: 'fake/m', endpoints, env: {}, workspaceTools: false });
}

/** Turns of one conversation. Returns the events of the last one. */
async function converse(count: number, said: (n: number) => string, subject = provider()): Promise<ProviderEvent[]> {
  let session: string | null = null;
  let events: ProviderEvent[] = [];
  for (let n = 0; n < count; n += 1) {
    events = await collect(subject.runTurn(changed(turn, { session, prompt: said(n), runId: randomUUID() })));
    const named = events.find((event) => event.type === 'session');
    if (named) session = named.session;
  }
  return events;
}

describe('a conversation that is too long', () => {
  test('of 500 turns is summarized, and still answers from its early facts', { timeout: 60_000 }, async () => {
    const filler = 'word '.repeat(40);
    const events = await converse(500, (n) => (n < 5 ? `FACT-${n}=v${n} ${filler}` : `Turn ${n}: ${filler}`));
    expect(events.at(-1)).toEqual({ type: 'done', text: 'I know FACT-0=v0 FACT-1=v1 FACT-2=v2 FACT-3=v3 FACT-4=v4' });
    const summaries = model.requests.filter(({ system }) => isSummary(system));
    expect(summaries.length).toBeGreaterThan(3);
    // No call was refused for its length, and no turn was summarized twice in a row.
    expect(model.requests).toHaveLength(500 + summaries.length);
    expect(summaries.length).toBeLessThan(60);
  });

  test('keeps the original, and the tokens of its summary are counted', async () => {
    const filler = 'word '.repeat(1_500);
    const appended: NewEntry[] = [];
    const { conversation } = turn;
    const append: Conversation['append'] = (session, entries) => {
      appended.push(...entries);
      return conversation.append(session, entries);
    };
    turn = { ...turn, conversation: { ...conversation, append } };
    const events = await converse(5, (n) => `FACT-${n}=v ${filler}`);
    expect(events.at(-1)).toMatchObject({ type: 'done', text: expect.stringMatching(/FACT-0=v .*FACT-4=v/) });
    const roles = appended.map(({ role }) => role);
    expect(roles.filter((role) => role === 'user')).toHaveLength(5);
    expect(roles).toContain('summary');
    const usages = events.filter(({ type }) => type === 'usage');
    expect(usages.length).toBeGreaterThanOrEqual(1);
  });

  test('is summarized when the service refuses its length, and the current request stays word for word', async () => {
    const filler = 'word '.repeat(1_000);
    const request = `Turn 6 FACT-6=now ${'exact '.repeat(50)}`;
    const big = provider(1_000_000);
    const events = await converse(7, (n) => (n === 6 ? request : `FACT-${n}=v ${filler}`), big);
    expect(events.at(-1)).toMatchObject({ type: 'done', text: expect.stringMatching(/FACT-0=v .*FACT-6=now/) });
    expect(
      model.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join(''),
    ).toContain(request);
  });
});

describe('findCut()', () => {
  const said = (n: number, role: 'user' | 'assistant' | 'tool', runId: string, text = 'x'.repeat(400)) => {
    const parts = [{ type: 'call', id: `c${n}`, name: 't', arguments: { text } }];
    const contents = {
      user: { text },
      assistant: { model: 'm', parts },
      tool: { id: `c${n - 1}`, name: 't', text, isError: false },
    };
    const counts = { covers: null, inputTokens: 0, outputTokens: 0, createdAt: 1 };
    return readEntry({ session: 's', n, agentId: 'a', runId, role, content: contents[role], ...counts });
  };
  const steps = (runId: string, from: number) => [said(from, 'assistant', runId), said(from + 1, 'tool', runId)];
  const talk = [
    said(1, 'user', 'old', 'an old request'),
    said(2, 'user', 'now', 'the current request'),
    ...steps('now', 3),
    ...steps('now', 5),
  ];

  test('keeps the current request word for word, and no call without its result', () => {
    const cut = findCut(talk, 'now', 1_000);
    expect(cut).toMatchObject({ covers: 4, kept: ['the current request'] });
    expect(cut?.old.map(({ entry }) => entry.n)).toEqual([1, 2, 3, 4]);
  });

  test('finds nothing in an empty conversation', () => {
    expect(findCut([], 'now', 1_000)).toBeNull();
  });
});
