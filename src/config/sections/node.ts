import * as z from 'zod';
import { maybeDuration } from '../duration.ts';
import { maybe, table } from '../fields.ts';

const RULE = 'must have 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit';
const word = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, RULE);

export const node = table({
  name: maybe(word),
  labels: z.array(word).max(50, 'must have at most 50 labels').default([]),
  dead_after: maybeDuration({ min: '100ms', max: '1d' }),
})
  .prefault({})
  .transform(({ deadAfter, ...rest }) => ({ ...rest, deadAfterMs: deadAfter }))
  .describe('Name and labels of this daemon in a fleet, and when others count it as dead.');

/** Never before its own turns have ended and its leases are over. */
export function deadAfterMs(config: {
  readonly node: { readonly deadAfterMs: number | null };
  readonly daemon: { readonly leaseMs: number };
}): number {
  return config.node.deadAfterMs ?? Math.max(60_000, 2 * config.daemon.leaseMs);
}
