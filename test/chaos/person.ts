import { setTimeout as sleep } from 'node:timers/promises';
import { SubstratError } from '../../src/core/errors.ts';
import type { DaemonProcess } from './daemon-process.ts';
import { rootToken } from './plan.ts';

/** What the person asked, and was told by a daemon that may die in the middle of telling it. */
export interface Errand {
  readonly task: number;
  readonly to: string;
  /** Null: the daemon died before it answered, so the message may be there or not. */
  readonly messageId: string | null;
  reply: string | null;
}

/**
 * A person who asks an agent again and again, several things at once, for as long as `more` says. What the daemon did
 * not acknowledge is asked anew as another task.
 */
export async function askWhile(
  daemon: DaemonProcess,
  { to, atOnce, more }: { to: string; atOnce: number; more: (errands: readonly Errand[]) => boolean },
): Promise<Errand[]> {
  const errands: Errand[] = [];
  let tasks = 0;
  const ask = async (): Promise<void> => {
    while (more(errands)) {
      tasks += 1;
      const errand = await send(daemon, tasks, to);
      errands.push(errand);
      if (errand.messageId !== null) errand.reply = await replyTo(daemon, errand.messageId);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  return errands;
}

export async function send(daemon: DaemonProcess, task: number, to: string): Promise<Errand> {
  await untilDone(daemon, () => daemon.client.getStatus());
  const sent = await unlessDead(() => daemon.client.sendMessage(to, { text: `ask ${rootToken(task, to)}` }));
  return { task, to, messageId: sent?.messageId ?? null, reply: null };
}

export async function replyTo(daemon: DaemonProcess, messageId: string): Promise<string> {
  return (await untilDone(daemon, () => daemon.client.awaitReply(messageId, 60))).text;
}

/** However many daemons it takes. */
async function untilDone<T>(daemon: DaemonProcess, action: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const done = await unlessDead(action);
    if (done !== null) return done;
    daemon.checkHealth();
    await sleep(10);
  }
}

/** Null when there is no daemon, or none any more. */
async function unlessDead<T>(action: () => Promise<T>): Promise<T | null> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'not_running') return null;
    throw error;
  }
}
