import { type Agent, SYSTEM_ID, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { REMINDER } from '../core/reminder.ts';
import type { Run } from '../core/run.ts';
import { shorten } from '../core/text.ts';
import type { Timer } from '../core/timer.ts';
import { openDm } from './channels.ts';
import { post } from './post.ts';
import type { Tx } from './tx.ts';

const MOST_REMINDERS = 20;

export interface NewReminder {
  readonly reason: string;
  readonly due: number;
  readonly everyMs: number | null;
  /** `due` is some time from now on, however the clock is set. */
  readonly relative: boolean;
}

/** Reminds the agent at a time, and then again and again if it says so. Returns the reminder's id. */
export async function setReminder(tx: Tx, agent: Agent, run: Run, wanted: NewReminder, now: number): Promise<string> {
  if ((await tx.reminders.listReminders({ agentId: agent.id })).length >= MOST_REMINDERS) {
    const message = `You have ${MOST_REMINDERS} reminders. Cancel one with cancel_reminder first.`;
    throw new SubstratError('cap_reached', message);
  }
  const { due, reason, everyMs, relative } = wanted;
  const id = newId();
  const { chainDepth, payerId } = run;
  await tx.reminders.insertReminder({
    id,
    agentId: agent.id,
    reason,
    everyMs,
    chainDepth,
    payerId,
    messageId: null,
    lastDue: null,
    relative,
    createdAt: now,
  });
  await tx.timers.setTimer({ kind: REMINDER, key: id, due });
  const data = { agentId: agent.id, reminderId: id, due: new Date(due).toISOString() };
  await tx.events.appendEvent({ type: 'reminder_set', at: now, agentId: agent.id, data });
  return id;
}

export async function cancelReminder(tx: Tx, agent: Agent, id: string): Promise<void> {
  const reminder = await tx.reminders.getReminder({ id });
  if (reminder?.agentId !== agent.id) throw new SubstratError('not_found', `You have no reminder ${shorten(id)}.`);
  await remove(tx, id);
}

/** An agent that is terminated is not reminded of anything. */
export async function dropReminders(tx: Tx, agentId: string): Promise<void> {
  for (const { id } of await tx.reminders.listReminders({ agentId })) await remove(tx, id);
}

/**
 * Sends the notice. One of a repeated reminder that was missed while no daemon ran comes once, and none comes while the agent
 * has not read the one before.
 */
export async function fireReminder(tx: Tx, { key: id, due }: Timer, now: number): Promise<void> {
  const reminder = await tx.reminders.getReminder({ id });
  if (!reminder) return;
  const agent = (await tx.agents.getAgent({ id: reminder.agentId })) as Agent;
  const { reason, everyMs, chainDepth, payerId } = reminder;
  const isNew = reminder.lastDue === null || due > reminder.lastDue;
  if (isNew && !(await tx.reminders.isUnread({ id }))) {
    const channelId = await openDm(tx, agent, { id: USER_ID, handle: USER_ID }, now);
    const messageId = await post(
      tx,
      {
        channelId,
        authorId: SYSTEM_ID,
        runId: null,
        kind: 'notice',
        // People read it, too: the agent's words must not pass for ours.
        text: `Reminder ${id}, as you wrote it:\n${reason.replace(/^/gmu, '> ')}`,
        chainDepth: chainDepth + 1,
        payerId,
        cause: 'reminder',
        recipients: [{ agentId: agent.id, kind: 'news' }],
      },
      now,
    );
    await tx.reminders.setReminded({ id, messageId });
  }
  if (everyMs === null) await tx.reminders.deleteReminder({ id });
  else {
    if (isNew) await tx.reminders.setLastDue({ id, due });
    await arm(tx, { id, everyMs, lastDue: due }, now);
  }
}

/**
 * The clock was set back by `by`: reminders that repeat keep their rhythm from the time that they last fired for, and those that
 * were set for a time from then on, when the clock was ahead, are set back with it.
 */
export async function rearmReminders(tx: Tx, by: number, now: number): Promise<void> {
  for (const { id, createdAt, due } of await tx.reminders.listSetAhead({ now })) {
    await tx.reminders.setSetAt({ id, at: createdAt - by });
    await tx.timers.setTimer({ kind: REMINDER, key: id, due: due - by });
  }
  for (const { id, everyMs, lastDue } of await tx.reminders.listRepeated()) {
    if (everyMs !== null && lastDue !== null) await arm(tx, { id, everyMs, lastDue }, now);
  }
}

async function arm(
  tx: Tx,
  { id, everyMs, lastDue }: { readonly id: string; readonly everyMs: number; readonly lastDue: number },
  now: number,
): Promise<void> {
  const due = lastDue + everyMs * Math.max(1, Math.ceil((now + 1 - lastDue) / everyMs));
  await tx.timers.setTimer({ kind: REMINDER, key: id, due });
}

async function remove(tx: Tx, id: string): Promise<void> {
  await tx.reminders.deleteReminder({ id });
  await tx.timers.tryCancelTimer({ kind: REMINDER, key: id });
}
