import type { FireTimer } from '../runs/due-timers.ts';

/** The function that fires for each kind of timer. */
export const timers: ReadonlyMap<string, FireTimer> = new Map();
