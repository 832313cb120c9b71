import * as z from 'zod';
import { maybeDuration } from '../duration.ts';
import { flag, maybe, type PathBase, table, text } from '../fields.ts';

const RULE = 'must have 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit';
const word = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, RULE);

export const node = ({ resolve }: PathBase) =>
  table({
    name: maybe(word),
    labels: z.array(word).max(50, 'must have at most 50 labels').default([]),
    dead_after: maybeDuration({ min: '100ms', max: '1d' }),
    /** Sessions of its agents are stored, and agents are taken over from it and by it. */
    portable: flag(true),
    /** Where work in progress of git workspaces is pushed to: the address of a repository for this purpose. */
    wip_remote: maybe(text).meta({ secret: true }),
    /** Directories that other nodes with the same entry reach at the same path. */
    shared: z.array(text.transform(resolve)).max(50, 'must have at most 50 directories').default([]),
  })
    .prefault({})
    .transform(({ deadAfter, ...rest }) => ({ ...rest, deadAfterMs: deadAfter }))
    .describe('Name and labels of this daemon in a fleet, what it shares, and when others count it as dead.');

/** Never before its own turns have ended and its leases are over. */
export function deadAfterMs(config: {
  readonly node: { readonly deadAfterMs: number | null };
  readonly daemon: { readonly leaseMs: number };
}): number {
  return config.node.deadAfterMs ?? Math.max(60_000, 2 * config.daemon.leaseMs);
}
