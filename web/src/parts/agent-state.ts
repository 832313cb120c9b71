import type { Agent } from '../../../src/client/browser.ts';
import type { Mark } from './state-mark.tsx';
import { showClock, showWait } from './time.ts';

export interface Shown {
  readonly mark: Mark;
  /** Never a state alone: what holds it back, and until when. */
  readonly why: string;
}

/** What an agent does now, and why not more. `asked`: since when a question of it waits for the reader. */
export function describeAgent({ state, status, pending }: Agent, now: number, asked: number | null): Shown {
  if (asked !== null) return { mark: 'need', why: `needs you: a question, ${showWait(now - asked)}` };
  const reason = status?.reason ? `: ${firstLine(status.reason)}` : '';
  if (status?.kind === 'paused') return { mark: 'need', why: `paused${reason}` };
  if (status?.kind === 'resting' || status?.kind === 'parked') {
    const until = status.until ? ` until ${showClock(status.until)}` : '';
    return { mark: 'park', why: `parked${until}${reason}` };
  }
  if (status?.kind === 'queued') {
    const since = status.since ? `, ${showWait(now - Date.parse(status.since))}` : '';
    return { mark: 'queue', why: `queued${since}${reason}` };
  }
  if (state === 'busy') return { mark: 'run', why: pending > 0 ? `running, ${pending} more to read` : 'running' };
  if (state === 'waiting') return { mark: 'wait', why: 'waits for a reply' };
  if (state === 'terminated') return { mark: 'idle', why: 'terminated' };
  return { mark: 'idle', why: pending > 0 ? `idle, ${pending} to read` : 'idle' };
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] ?? '';
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
