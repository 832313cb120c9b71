import type { RunMessage, RunStep } from '../../../../src/client/browser.ts';
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
  | { readonly kind: 'break'; readonly n: number; readonly attempt: number };

export interface PromptSection {
  readonly name: string;
  readonly text: string;
}

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
export function toRows(records: readonly RunMessage[], end: number, used: readonly RunStep[] = []): Row[] {
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
  const rows = withUsage(steps, used);
  const long = longGap(steps);
  return rows.flatMap((step, i): Row[] => {
    const before = rows[i - 1];
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
