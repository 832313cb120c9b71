import { setTimeout as sleep } from 'node:timers/promises';
import { SubstratError } from '../../src/core/errors.ts';
import type { DaemonProcess } from './daemon-process.ts';

/** Repeats the action until a daemon lives long enough to complete it. The action must be idempotent. */
export async function untilDone<T>(daemon: DaemonProcess, action: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const done = await unlessDead(action);
    if (done !== null) return done;
    daemon.checkHealth();
    await sleep(10);
  }
}

/** Returns null if no daemon runs, or if it died before it responded. */
export async function unlessDead<T>(action: () => Promise<T>): Promise<T | null> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'not_running') return null;
    throw error;
  }
}
