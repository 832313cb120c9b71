import { probeBwrap } from '../../src/sandbox/probe.ts';

/** Why sandbox tests cannot run here; null if they can. */
export const noBwrap: string | null = await probeBwrap(process.env.PATH ?? '');

if (noBwrap !== null) console.warn(`Tests of the sandbox are skipped. ${noBwrap}`);
