import { probeBwrap } from '../../src/sandbox/probe.ts';

/** Why tests of the sandbox cannot run here; null when they can. */
export const noBwrap: string | null = await probeBwrap(process.env.PATH ?? '');

if (noBwrap !== null) console.warn(`Tests of the sandbox are skipped. ${noBwrap}`);
