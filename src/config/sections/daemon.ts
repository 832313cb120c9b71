import * as z from 'zod';
import { ownTimeZone } from '../../core/local-times.ts';
import { duration } from '../duration.ts';
import { count, maybe, oneLine, table, text, timeZone } from '../fields.ts';

export const daemon = table({
  slots: count({ fallback: 4, min: 1, max: 1_000 }),
  default_provider: maybe(text),
  turn_timeout: duration({ fallback: '30m', min: '100ms', max: '7d' }),
  request_deadline: duration({ fallback: '24h', min: '100ms', max: '365d' }),
  question_deadline: duration({ fallback: '7d', min: '100ms', max: '365d' }),
  max_attempts: count({ fallback: 3, min: 1, max: 100 }),
  max_deaths: count({ fallback: 3, min: 0, max: 100 }),
  time_zone: timeZone.prefault(ownTimeZone),
  quiet_after: duration({ fallback: '2m', min: '1s', max: '7d' }),
  stalled_after: duration({ fallback: '15m', min: '1s', max: '7d' }),
  checks: z.array(oneLine.min(1)).default([]),
  lease: duration({ fallback: '30s', min: '100ms', max: '1h' }),
})
  .prefault({})
  .transform(({ turnTimeout, requestDeadline, questionDeadline, quietAfter, stalledAfter, lease, ...rest }) => ({
    ...rest,
    turnTimeoutMs: turnTimeout,
    requestDeadlineMs: requestDeadline,
    questionDeadlineMs: questionDeadline,
    quietAfterMs: quietAfter,
    stalledAfterMs: stalledAfter,
    leaseMs: lease,
  }))
  .describe('How many turns run at once, and timeouts. A lease is how long a claim survives without a heartbeat.');
