import { showClock } from '../../parts/time.ts';
import type { Need } from '../../state/needs.ts';

export function titleOf(need: Need): string {
  if (need.kind === 'question') return `${need.who}: ${firstLine(need.message.text)}`;
  if (need.kind === 'failed-run') return `${need.who}: run failed`;
  if (need.kind === 'paused') return `${need.who}: paused`;
  const until = need.agent.status?.until;
  return `${need.who}: parked${until ? ` until ${showClock(until)}` : ''}`;
}

export function whatOf(need: Need): string {
  if (need.kind === 'question') return `Question. ${need.who} goes on when you answer.`;
  if (need.kind === 'failed-run') return `Failed run. ${firstLine(need.run.error ?? 'No reason was recorded.')}`;
  const reason = need.agent.status?.reason;
  const waiting = need.agent.pending > 0 ? ` ${need.agent.pending} messages wait.` : '';
  if (need.kind === 'paused') return `${reason ?? 'Takes no turn until you resume it.'}${waiting}`;
  return `${reason ? `${firstLine(reason)} ` : ''}Goes on by itself.${waiting}`;
}

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > 140 ? `${line.slice(0, 139)}…` : line;
}
