import { createPool, type PoolOptions } from './pool.ts';
import type { Scripting } from './script.ts';

export type { Script, ScriptCall, Scripting, ScriptLog } from './script.ts';

const MEGABYTE = 1024 * 1024;

/** Starts no thread before the first script runs. */
export function openScripting(options: Partial<PoolOptions> = {}): Scripting {
  return createPool({ threads: 4, warm: 1, memoryBytes: 64 * MEGABYTE, resultBytes: 8 * MEGABYTE, ...options });
}
