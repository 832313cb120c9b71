import type { RunMessage } from '../../../../src/client/browser.ts';
import { shown, shownJson } from '../../text/shown.ts';

/** A row of the waterfall. */
export type Row =
  | {
      readonly kind: 'prompt' | 'model' | 'tool' | 'message';
      /** The number of its first record. */
      readonly n: number;
      readonly attempt: number;
      readonly step: number;
      readonly what: string;
      readonly tool: string | null;
      readonly failed: boolean;
      readonly start: number;
      readonly end: number;
      readonly call: unknown;
      readonly result: unknown;
    }
  | { readonly kind: 'gap'; readonly n: number; readonly ms: number }
  | { readonly kind: 'break'; readonly n: number; readonly attempt: number };

export type StepRow = Exclude<Row, { kind: 'gap' | 'break' }>;

/** Where the bars are: from 0 to 100, with long gaps squeezed. */
export interface Scale {
  at(time: number): number;
  readonly gaps: readonly { readonly x: number; readonly width: number }[];
  readonly start: number;
  readonly end: number;
}

/** Tools that talk to somebody. */
const TALKS = /^(send_message|broadcast|post|speak|ask_person|reply)/;
const GAP_WIDTH = 3;

/** The rows of a run, in order: calls with their results, attempts, and gaps in which nothing happened. */
export function toRows(records: readonly RunMessage[], end: number): Row[] {
  const returns = new Map<string, RunMessage>();
  for (const record of records) {
    if (record.type === 'tool_return_message' && record.callId !== null) returns.set(keyOf(record), record);
  }
  const steps: StepRow[] = [];
  records.forEach((record, i) => {
    if (record.type === 'tool_return_message' && returns.get(keyOf(record)) === record && hasCall(records, record))
      return;
    const before = records[i - 1];
    const since = before?.attempt === record.attempt ? Date.parse(before.createdAt) : null;
    steps.push(toStep(record, returns.get(keyOf(record)) ?? null, since, end));
  });
  const long = longGap(steps);
  return steps.flatMap((step, i): Row[] => {
    const before = steps[i - 1];
    const idle = before ? step.start - before.end : 0;
    return [
      ...(before && before.attempt !== step.attempt
        ? [{ kind: 'break' as const, n: step.n, attempt: before.attempt }]
        : []),
      ...(idle > long ? [{ kind: 'gap' as const, n: step.n, ms: idle }] : []),
      step,
    ];
  });
}

/** Time is drawn to scale, except for gaps, which all have one width. */
export function toScale(rows: readonly Row[]): Scale {
  const steps = rows.filter((row) => row.kind !== 'gap' && row.kind !== 'break');
  const start = steps[0]?.start ?? 0;
  const end = Math.max(start + 1, ...steps.map((step) => step.end));
  const gaps = rows.flatMap((row, i) => {
    const next = rows.slice(i + 1).find((one) => one.kind !== 'gap' && one.kind !== 'break');
    return row.kind === 'gap' && next ? [{ from: next.start - row.ms, to: next.start }] : [];
  });
  const idle = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const perMs = (100 - gaps.length * GAP_WIDTH) / Math.max(1, end - start - idle);
  const at = (time: number): number => {
    let x = 0;
    let from = start;
    for (const gap of gaps) {
      if (time <= gap.from) break;
      x += (gap.from - from) * perMs + GAP_WIDTH * Math.min(1, (time - gap.from) / (gap.to - gap.from));
      from = gap.to;
      if (time <= gap.to) return x;
    }
    return x + Math.max(0, time - from) * perMs;
  };
  return { at, gaps: gaps.map(({ from }) => ({ x: at(from), width: GAP_WIDTH })), start, end };
}

/** A gap is long if it is ten times the usual one, and at least a minute. */
function longGap(steps: readonly StepRow[]): number {
  const idle = steps.map((step, i) => step.start - (steps[i - 1]?.end ?? step.start)).sort((a, b) => a - b);
  return Math.max(60_000, 10 * (idle[Math.floor(idle.length / 2)] ?? 0));
}

function toStep(record: RunMessage, result: RunMessage | null, since: number | null, end: number): StepRow {
  const at = Date.parse(record.createdAt);
  const base = { n: record.n, attempt: record.attempt, step: record.step, tool: record.tool };
  const what = oneLine(record.content);
  if (record.type === 'tool_call_message') {
    const kind = TALKS.test(record.tool ?? '') ? 'message' : 'tool';
    const until = result ? Date.parse(result.createdAt) : end;
    const failed = result?.isError ?? false;
    return {
      ...base,
      kind,
      what,
      failed,
      start: at,
      end: until,
      call: record.content,
      result: result?.content ?? null,
    };
  }
  const isPrompt = record.type === 'system_message' || record.type === 'user_message';
  // A prompt takes no time. What the model says is recorded when it is said: it thought since the record before.
  const start = isPrompt ? at : (since ?? at);
  const kind = isPrompt ? 'prompt' : 'model';
  return { ...base, kind, what, failed: record.isError, start, end: at, call: null, result: record.content };
}

function hasCall(records: readonly RunMessage[], { callId, attempt }: RunMessage): boolean {
  return records.some((one) => one.type === 'tool_call_message' && one.callId === callId && one.attempt === attempt);
}

function keyOf({ attempt, callId }: RunMessage): string {
  return `${attempt} ${callId}`;
}

function oneLine(content: unknown): string {
  const text = showValue(content).replace(/\s+/g, ' ').trim();
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

/** A value as a person reads it. */
export function showValue(value: unknown): string {
  if (typeof value === 'string') return shown(value);
  if (value === null || value === undefined) return '';
  return shownJson(value);
}
