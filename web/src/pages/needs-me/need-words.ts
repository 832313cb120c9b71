import { plural } from '../../parts/numbers.ts';
import type { Mark } from '../../parts/state-mark.tsx';
import { showClock } from '../../parts/time.ts';
import type { Need } from '../../state/needs.ts';
import { firstLine } from '../../text/first-line.ts';

const MARKS: Readonly<Record<Need['kind'], Mark>> = {
  question: 'need',
  'failed-run': 'fail',
  dead: 'fail',
  paused: 'need',
  parked: 'park',
  stranded: 'fail',
  stalled: 'wait',
  stopped: 'limit',
  limit: 'limit',
};
const KINDS: Readonly<Record<Need['kind'], string>> = {
  question: 'Question',
  'failed-run': 'Failed run',
  dead: 'Lost messages',
  paused: 'Paused agent',
  parked: 'Parked agent',
  stranded: 'Stranded agent',
  stalled: 'Stalled turn',
  stopped: 'Stopped agent',
  limit: 'Limit reached',
};

export function markOf({ kind }: Need): Mark {
  return MARKS[kind];
}

export function kindOf(need: Need): string {
  return isApproval(need) ? 'Approval' : KINDS[need.kind];
}

export function isApproval(need: Need): boolean {
  return need.kind === 'question' && need.question?.kind === 'approval';
}

export function titleOf(need: Need): string {
  switch (need.kind) {
    case 'question':
      return need.question?.tool
        ? `${need.who}: may it call ${need.question.tool}?`
        : `${need.who}: ${firstLine(need.text)}`;
    case 'failed-run':
      return `${need.who}: run failed`;
    case 'dead':
      return `${need.who}: ${plural(need.messages.length, 'message was', 'messages were')} lost`;
    case 'paused':
    case 'stopped':
    case 'stranded':
      return `${need.who}: ${need.kind}`;
    case 'stalled':
      return need.agent.status?.kind === 'looping'
        ? `${need.who}: its turn repeats itself`
        : `${need.who}: no sign of its turn`;
    case 'parked': {
      const until = need.agent.status?.until;
      return `${need.who}: parked${until ? ` until ${showClock(until)}` : ''}`;
    }
    case 'limit':
      return `${need.limit.provider}: limit until ${showClock(need.limit.until)}`;
  }
}

export function whatOf(need: Need): string {
  switch (need.kind) {
    case 'question':
      return `${kindOf(need)}. ${need.who} goes on ${need.blocks ? 'when you answer' : 'meanwhile'}.`;
    case 'failed-run':
      return `Failed run. ${firstLine(need.run.error ?? 'No reason was recorded.')}`;
    case 'dead':
      return 'A run that failed carried them. They expected no answer, so nobody was told.';
    case 'stalled':
      return `${need.agent.status?.reason ?? 'Nothing is heard of it.'} It goes on until you decide.`;
    case 'limit':
      return `${firstLine(need.limit.reason)} Agents of this provider go on when it ends.`;
    case 'stopped':
      return need.agent.status?.reason ?? 'A budget cannot be kept.';
    case 'stranded':
      return firstLine(need.agent.status?.reason ?? 'Its node sends no heartbeat.');
    default: {
      const reason = need.agent.status?.reason;
      const waiting = need.agent.pending > 0 ? ` ${plural(need.agent.pending, 'message waits', 'messages wait')}.` : '';
      if (need.kind === 'paused') return `${reason || 'Takes no turn until you resume it.'}${waiting}`;
      return `${reason ? `${firstLine(reason)} ` : ''}Goes on by itself.${waiting}`;
    }
  }
}
