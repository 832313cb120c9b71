import type { Agent } from '../../../src/client/browser.ts';
import { now as clock } from '../state/clock.ts';
import { asked, failed } from '../state/needs.ts';
import { turnOf } from '../state/turns.ts';
import { waits } from '../state/waits.ts';
import { firstLine } from '../text/first-line.ts';
import type { Mark } from './state-mark.tsx';
import { showClock, showWait } from './time.ts';

export interface Shown {
  readonly mark: Mark;
  readonly why: string;
}

/** What an agent does now, and why not more. The clock is read only where a duration is shown. */
export function describeAgent(agent: Agent): Shown {
  const { state, status, pending, handle } = agent;
  const since = asked.value.get(handle);
  if (since !== undefined) return { mark: 'need', why: `needs you: a question, ${waitSince(since)}` };
  const reason = status?.reason ? `: ${firstLine(status.reason, 120)}` : '';
  if (status?.kind === 'paused') return { mark: 'need', why: `paused${reason}` };
  if (status?.kind === 'stranded') return { mark: 'fail', why: `stranded${reason}` };
  if (status?.kind === 'resting' || status?.kind === 'parked') {
    const until = status.until ? ` until ${showClock(status.until)}` : '';
    return { mark: 'park', why: `parked${until}${reason}` };
  }
  if (status?.kind === 'queued') {
    const queued = status.since ? `, ${waitSince(Date.parse(status.since))}` : '';
    return { mark: 'queue', why: `queued${queued}${reason}` };
  }
  if (status?.kind === 'stopped') return { mark: 'limit', why: `stopped${reason}` };
  if (status?.kind === 'gated') return { mark: 'park', why: 'gated by its parent' };
  if (status?.kind === 'stalled' || status?.kind === 'looping') return { mark: 'need', why: `${status.kind}${reason}` };
  if (status?.kind === 'quiet') return { mark: 'run', why: `running, quiet${reason}` };
  if (state === 'busy') return { mark: 'run', why: describeTurn(agent) };
  if (state === 'waiting') return { mark: 'wait', why: describeWait(handle) };
  if (state === 'terminated') return { mark: 'idle', why: 'terminated' };
  const broken = failed.value.get(handle);
  if (broken) {
    return { mark: 'fail', why: `last run failed${broken.attempt > 1 ? `, ${broken.attempt} attempts` : ''}` };
  }
  return { mark: 'idle', why: pending > 0 ? `idle, ${pending} to read` : 'idle' };
}

function describeTurn({ id, pending }: Agent): string {
  const step = turnOf(id)?.step.value;
  const doing = step?.call
    ? `running: ${step.call.tool}${step.calls === null ? '' : `, call ${step.calls}`}`
    : 'running';
  return pending > 0 ? `${doing}, ${pending} more to read` : doing;
}

/** "waits for ben, 4 min". */
function describeWait(handle: string): string {
  const open = waits.value.get(handle) ?? [];
  const [first] = open;
  if (!first) return 'waits for a reply';
  const more = new Set(open.map(({ to }) => to)).size - 1;
  return `waits for ${first.to}${more > 0 ? ` and ${more} more` : ''}, ${waitSince(Date.parse(first.createdAt))}`;
}

function waitSince(since: number): string {
  return showWait(clock.value - since);
}
