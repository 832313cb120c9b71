import type { FailedAttempt, RunMessage, RunStep } from '../../../../src/client/browser.ts';
import { plural, showCount } from '../../parts/numbers.ts';
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
      /** Of a prompt whose sections were recorded. */
      readonly sections: readonly PromptSection[] | null;
      /** What the step used, in its first row after the prompt; null if nobody knows. */
      readonly usage: RunStep['usage'];
    }
  | { readonly kind: 'gap'; readonly n: number; readonly ms: number }
  | {
      readonly kind: 'break';
      readonly n: number;
      readonly attempt: number;
      /** Null if nobody recorded why. */
      readonly failed: FailedAttempt | null;
      /** From its end to the beginning of the next one; null if that one has not begun. */
      readonly waitedMs: number | null;
    };

export interface PromptSection {
  readonly name: string;
  readonly text: string;
}

export type StepRow = Exclude<Row, { kind: 'gap' | 'break' }>;
export type BreakRow = Extract<Row, { kind: 'break' }>;

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

/** What the rows are made of. */
export interface Recorded {
  readonly messages: readonly RunMessage[];
  readonly steps?: readonly RunStep[];
  readonly failedAttempts?: readonly FailedAttempt[];
}

/** The rows of a run, in order: calls with their results, broken attempts, and gaps in which nothing happened. */
export function toRows({ messages: records, steps: used = [], failedAttempts = [] }: Recorded, end: number): Row[] {
  const calls = new Set<string>();
  const returns = new Map<string, RunMessage>();
  for (const record of records) {
    if (record.callId === null) continue;
    if (record.type === 'tool_return_message') returns.set(keyOf(record), record);
    if (record.type === 'tool_call_message') calls.add(keyOf(record));
  }
  const steps: StepRow[] = [];
  records.forEach((record, i) => {
    if (record.type === 'tool_return_message' && returns.get(keyOf(record)) === record && calls.has(keyOf(record)))
      return;
    const before = records[i - 1];
    const since = before?.attempt === record.attempt ? Date.parse(before.createdAt) : null;
    steps.push(toStep(record, returns.get(keyOf(record)) ?? null, since, end));
  });
  const rows = withUsage(steps, used);
  const long = longGap(steps);
  const shown = rows.flatMap((step, i): Row[] => {
    const before = rows[i - 1];
    const idle = before ? step.start - before.end : 0;
    const isNext = i === 0 || before?.attempt !== step.attempt;
    return [
      ...(isNext ? breaksBetween(before?.attempt ?? 0, step, failedAttempts) : []),
      ...(idle > long ? [{ kind: 'gap' as const, n: step.n, ms: idle }] : []),
      step,
    ];
  });
  const last = rows.at(-1)?.attempt ?? 0;
  return [...shown, ...failedAttempts.filter(({ attempt }) => attempt >= last).map((failed) => toBreak(failed, null))];
}

/** The attempts that broke before this step, from the one of the step before it on. */
function breaksBetween(from: number, { n, attempt, start }: StepRow, failed: readonly FailedAttempt[]): Row[] {
  const known = failed.filter((one) => one.attempt >= from && one.attempt < attempt);
  if (known.length > 0) {
    // Numbered by the attempt: several may stand before one step.
    return known.map((one, i) => toBreak(one, known[i + 1] ? Date.parse(known[i + 1]?.at ?? '') : start));
  }
  return from === 0 ? [] : [{ kind: 'break', n, attempt: from, failed: null, waitedMs: null }];
}

function toBreak(failed: FailedAttempt, next: number | null): Row {
  const waitedMs = next === null ? null : Math.max(0, next - Date.parse(failed.at));
  return { kind: 'break', n: -failed.attempt, attempt: failed.attempt, failed, waitedMs };
}

/** Time is drawn to scale, except for gaps, which all have one width. */
export function toScale(rows: readonly Row[]): Scale {
  const steps = rows.filter((row) => row.kind !== 'gap' && row.kind !== 'break');
  const start = steps[0]?.start ?? 0;
  const end = steps.reduce((last, step) => Math.max(last, step.end), start + 1);
  // A gap stands right before its step.
  const gaps = rows.flatMap((row, i) => {
    const next = rows[i + 1];
    if (row.kind !== 'gap' || !next || next.kind === 'gap' || next.kind === 'break') return [];
    return [{ from: next.start - row.ms, to: next.start }];
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
  const { n, attempt, step, tool, type } = record;
  const base = { n, attempt, step, tool, sections: null, usage: null };
  const what = oneLine(record.content);
  if (type === 'tool_call_message') {
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
  if (type === 'system_message' || type === 'user_message') {
    const sections = splitSections(record);
    const name = type === 'system_message' ? 'System prompt' : 'Prompt';
    const words = sections
      ? `${name}, ${plural(sections.length, 'section')}, ${showCount(tokensOf(String(record.content)))} tokens`
      : what;
    // A prompt takes no time.
    const times = { start: at, end: at };
    return {
      ...base,
      kind: 'prompt',
      what: words,
      failed: false,
      ...times,
      call: null,
      result: record.content,
      sections,
    };
  }
  // What the model says is recorded when it is said: it thought since the record before.
  const times = { start: since ?? at, end: at };
  return { ...base, kind: 'model', what, failed: record.isError, ...times, call: null, result: record.content };
}

/** The sections are joined by empty lines. */
function splitSections({ sections, content }: RunMessage): PromptSection[] | null {
  if (!sections || typeof content !== 'string') return null;
  let at = 0;
  return sections.map(({ name, length }) => {
    const text = shown(content.slice(at, at + length));
    at += length + 2;
    return { name, text };
  });
}

/** An estimate, as the daemon's: a quarter of the bytes. */
export function tokensOf(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / 4);
}

function withUsage(rows: readonly StepRow[], used: readonly RunStep[]): StepRow[] {
  const left = new Map(used.map((step) => [`${step.attempt} ${step.step}`, step.usage]));
  return rows.map((row) => {
    const key = `${row.attempt} ${row.step}`;
    if (row.kind === 'prompt' || !left.has(key)) return row;
    const usage = left.get(key) ?? null;
    left.delete(key);
    return { ...row, usage };
  });
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
