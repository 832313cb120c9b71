import { expect, test } from 'vitest';
import type { FailedAttempt, RunMessage } from '../../../../src/client/browser.ts';
import { type Recorded, type StepRow, toRows, toScale } from './waterfall.ts';

const START = Date.parse('2026-01-31T12:00:00.000Z');
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();
let n = 0;
const record = (type: RunMessage['type'], seconds: number, more: Partial<RunMessage> = {}): RunMessage => ({
  n: n++,
  step: 1,
  attempt: 1,
  type,
  tool: null,
  callId: null,
  content: '',
  isError: false,
  sections: null,
  createdAt: at(seconds),
  ...more,
});
const rowsOf = (messages: RunMessage[], end: number, more: Partial<Recorded> = {}) =>
  toRows({ messages, ...more }, end);
const call = { tool: 'read_file', callId: 'c' };

test('a call and its result are one row, from the call to the result', () => {
  const rows = rowsOf(
    [
      record('user_message', 0),
      record('assistant_message', 3, { content: 'I read it.' }),
      record('tool_call_message', 4, { ...call, content: { path: 'a' } }),
      record('tool_return_message', 9, { ...call, content: 'no such file', isError: true }),
    ],
    START + 10_000,
  );
  expect(rows.map(({ kind }) => kind)).toEqual(['prompt', 'model', 'tool']);
  expect(rows[1]).toMatchObject({ start: START, end: START + 3000 });
  expect(rows[2]).toMatchObject({ start: START + 4000, end: START + 9000, failed: true, result: 'no such file' });
});

test('a call without a result lasts until now', () => {
  const [row] = rowsOf([record('tool_call_message', 0, call)], START + 60_000);
  expect(row).toMatchObject({ end: START + 60_000, result: null });
});

test('a new attempt and a long gap have rows of their own; the gap is squeezed to one width', () => {
  const rows = rowsOf(
    [
      record('user_message', 0),
      record('tool_call_message', 1, call),
      record('tool_return_message', 10, call),
      record('user_message', 1000, { attempt: 2 }),
      record('tool_call_message', 1001, { ...call, attempt: 2 }),
      record('tool_return_message', 1010, { ...call, attempt: 2 }),
    ],
    START + 1_010_000,
  );
  expect(rows.map(({ kind }) => kind)).toEqual(['prompt', 'tool', 'break', 'gap', 'prompt', 'tool']);
  const scale = toScale(rows);
  const steps = rows.filter((row): row is StepRow => row.kind !== 'gap' && row.kind !== 'break');
  const places = steps.flatMap(({ start, end }) => [scale.at(start), scale.at(end)]);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places.at(-1)).toBeCloseTo(100);
  expect(scale.at(START + 1_000_000) - scale.at(START + 10_000)).toBeCloseTo(3);
});

test('a prompt is split into its sections, and a step has its usage in the first row after the prompt', () => {
  const sections = [
    { name: 'identity', length: 12 },
    { name: 'instructions', length: 4 },
  ];
  const usage = { inputTokens: 10, outputTokens: 1, costUsd: 0.5 };
  const rows = rowsOf(
    [
      record('system_message', 0, { content: 'You are ada.\n\nWork', sections }),
      record('assistant_message', 3, { content: 'I work.' }),
      record('assistant_message', 4, { content: 'I am done.' }),
    ],
    START + 10_000,
    { steps: [{ step: 1, attempt: 1, startedAt: at(0), tools: [], usage }] },
  ) as StepRow[];
  expect(rows[0]?.what).toBe('System prompt, 2 sections, 5 tokens');
  expect(rows[0]?.sections).toEqual([
    { name: 'identity', text: 'You are ada.' },
    { name: 'instructions', text: 'Work' },
  ]);
  expect(rows.map((row) => row.usage)).toEqual([null, usage, null]);
});

const failure = (attempt: number, seconds: number, error: string): FailedAttempt => ({
  attempt,
  kind: 'rate_limit',
  error,
  at: at(seconds),
  notBefore: at(seconds + 5),
});

test('a broken attempt says why it failed and how long the next one waited, even if it recorded nothing', () => {
  const rows = rowsOf([record('user_message', 0), record('user_message', 30, { attempt: 3 })], START + 40_000, {
    failedAttempts: [failure(1, 2, 'Too many requests.'), failure(2, 12, 'No answer.'), failure(3, 35, 'Again.')],
  });
  expect(rows.map((row) => (row.kind === 'break' ? [row.attempt, row.failed?.error, row.waitedMs] : row.kind))).toEqual(
    ['prompt', [1, 'Too many requests.', 10_000], [2, 'No answer.', 18_000], 'prompt', [3, 'Again.', null]],
  );
  expect(new Set(rows.map(({ kind, n: number }) => `${kind} ${number}`)).size).toBe(rows.length);
});

test('ten thousand records become rows in a time that grows with their number', () => {
  const many = (count: number): RunMessage[] =>
    Array.from({ length: count }, (_, i) => {
      const own = { tool: 'read_file', callId: `c${i >> 1}` };
      return record(i % 2 === 0 ? 'tool_call_message' : 'tool_return_message', i * 100, own);
    });
  const cost = (count: number): number => {
    const records = many(count);
    const before = process.cpuUsage();
    toScale(rowsOf(records, START));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  cost(2000);
  // A hundred times the records would cost ten thousand times as much if each looked at all others.
  const [few, lots] = [Math.min(cost(500), cost(500), cost(500)), Math.min(cost(50_000), cost(50_000))];
  expect(lots / Math.max(few, 500)).toBeLessThan(1000);
});
