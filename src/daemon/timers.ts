import type { FireTimer } from '../runs/due-timers.ts';

/** What the timers of each kind do. */
export const timers: ReadonlyMap<string, FireTimer> = new Map();
