import type { MachineLimits } from '../../src/core/machine-limits.ts';
import { probeBwrap } from '../../src/sandbox/probe.ts';

/** Why sandbox tests cannot run here; null if they can. */
export const noBwrap: string | null = await probeBwrap(process.env.PATH ?? '');

if (noBwrap !== null) console.warn(`Tests of the sandbox are skipped. ${noBwrap}`);

const none = Number.POSITIVE_INFINITY;
export const noLimits: MachineLimits = {
  memoryBytes: none,
  processes: none,
  cpus: none,
  openFiles: none,
  diskBytes: none,
};
