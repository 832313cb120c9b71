import type { DaemonProcess } from './daemon-process.ts';
import { unlessDead, untilDone } from './patience.ts';
import { rootToken } from './plan.ts';

/** What the person asked, and the response of a daemon that may have died while responding. */
export interface Errand {
  readonly task: number;
  readonly to: string;
  /** Null: the daemon died before it responded, so the message may exist or not. */
  readonly messageId: string | null;
  reply: string | null;
}

/**
 * A person who keeps asking an agent, several things at once, until `more` returns false. A question that was not
 * acknowledged is asked again as another task.
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
