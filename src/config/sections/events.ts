import { duration } from '../duration.ts';
import { table } from '../fields.ts';

export const events = table({
  retention: duration({ fallback: '30d', min: '1s', max: '3650d' }),
  heartbeat: duration({ fallback: '15s', min: '100ms', max: '10m' }),
  patience: duration({ fallback: '30s', min: '100ms', max: '10m' }),
})
  .prefault({})
  .transform(({ retention, heartbeat, patience }) => ({
    retentionMs: retention,
    heartbeatMs: heartbeat,
    patienceMs: patience,
  }))
  .describe('How long events are stored for clients that reconnect, and how long a client may stop reading.');
