import { type Agent, keyOf, USER_ID } from '../core/agent.ts';
import type { Channel } from '../core/channel.ts';
import { readCron } from '../core/cron.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { AgentId } from '../core/ids.ts';
import { checkTimeZone } from '../core/local-times.ts';
import { nextDue, SCHEDULE, type Schedule } from '../core/schedule.ts';
import type { Timer } from '../core/timer.ts';
import type { MessagingRules } from './rules.ts';
import { sendAsPerson } from './send.ts';
import { speak } from './speak.ts';
import type { Tx } from './tx.ts';

/** What a configuration or a person says about a schedule. */
export type ScheduleWish = Pick<Schedule, 'name' | 'cron' | 'timeZone' | 'target' | 'text' | 'runs'>;

const MOST_SCHEDULES = 1000;
const OWNER = { id: USER_ID, handle: USER_ID };

export async function addSchedule(tx: Tx, wish: ScheduleWish, nodeId: string | null, now: number): Promise<Schedule> {
  const nameKey = keyOf(wish.name);
  readCron(wish.cron);
  checkTimeZone(wish.timeZone);
  if (await tx.schedules.getScheduleNamed({ nameKey })) {
    throw new SubstratError('name_taken', `There is a schedule "${wish.name}" already. Remove it first.`);
  }
  if ((await tx.schedules.listSchedules()).length >= MOST_SCHEDULES) {
    throw new SubstratError('cap_reached', `There are ${MOST_SCHEDULES} schedules. Remove one first.`);
  }
  const nothing = { toldSpent: false, messageId: null, lastDue: null, lastAt: null, error: null };
  const schedule: Schedule = { id: newId(), nameKey, ...wish, nodeId, ...nothing, createdAt: now };
  await tx.schedules.insertSchedule(schedule);
  await arm(tx, schedule, now);
  return schedule;
}

export async function removeSchedule(tx: Tx, { id }: Pick<Schedule, 'id'>): Promise<void> {
  await tx.schedules.deleteSchedule({ id });
  await tx.timers.tryCancelTimer({ kind: SCHEDULE, key: id });
}

/**
 * Makes the schedules of a node those of its configuration. One that did not change keeps its next time, so that what was missed
 * during a downtime still fires. Returns the names that other schedules have already.
 */
export async function applySchedules(
  tx: Tx,
  wishes: readonly ScheduleWish[],
  nodeId: string,
  now: number,
): Promise<string[]> {
  const taken: string[] = [];
  const wanted = new Map(wishes.map((wish) => [keyOf(wish.name), wish]));
  for (const found of await tx.schedules.listConfiguredSchedules({ nodeId })) {
    const wish = wanted.get(found.nameKey);
    if (!wish) {
      await removeSchedule(tx, found);
      continue;
    }
    wanted.delete(found.nameKey);
    await tx.schedules.setSchedule({ ...wish, id: found.id });
    if (wish.cron !== found.cron || wish.timeZone !== found.timeZone) await arm(tx, { ...found, ...wish }, now);
  }
  for (const [nameKey, wish] of wanted) {
    if (await tx.schedules.getScheduleNamed({ nameKey })) taken.push(wish.name);
    else await addSchedule(tx, wish, nodeId, now);
  }
  return taken;
}

/** Sends the message, once for all times that were missed, and not while nobody has read the one before. */
export function fireSchedule(rules: MessagingRules) {
  return async (tx: Tx, { key: id, due }: Timer, now: number): Promise<void> => {
    const schedule = await tx.schedules.getSchedule({ id });
    if (!schedule) return;
    if (schedule.lastDue === null || due > schedule.lastDue) {
      await tx.schedules.renewAllowance({ id });
      const sent = await send(tx, rules, schedule, now);
      await tx.schedules.setFired({ id, due, at: now, ...sent });
    }
    await arm(tx, { ...schedule, lastDue: Math.max(due, schedule.lastDue ?? due) }, now);
  };
}

/** The clock was set back: what would have waited for the times that it showed before does not. */
export async function rearmSchedules(tx: Tx, now: number): Promise<void> {
  for (const schedule of await tx.schedules.listSchedules()) await arm(tx, schedule, now);
}

async function arm(tx: Tx, schedule: Schedule, now: number): Promise<void> {
  const due = nextDue(schedule, now);
  if (due !== null) await tx.timers.setTimer({ kind: SCHEDULE, key: schedule.id, due });
}

async function send(
  tx: Tx,
  rules: MessagingRules,
  { id, target, text, messageId: last }: Schedule,
  now: number,
): Promise<Pick<Schedule, 'messageId' | 'error'>> {
  const unread = last !== null && (await tx.deliveries.listPendingRecipients({ messageId: last })).length > 0;
  if (unread) return { messageId: last, error: 'The message before has not been read yet, so none was sent.' };
  const found = await targetOf(tx, target);
  if (!found) return { messageId: last, error: `There is no living agent or channel "${target}".` };
  const words = { text, inReplyTo: null, scheduled: { id } };
  const { messageId } =
    'handle' in found
      ? await sendAsPerson(tx, rules, OWNER, found, words, now)
      : await speak(tx, rules, { ...OWNER, run: null, scheduled: { id } }, found, { text }, now);
  return { messageId, error: null };
}

/** The living agent or the channel that a schedule names. */
export async function targetOf(tx: Tx, target: string): Promise<Agent | Channel | null> {
  if (target.startsWith('#')) {
    const channel = await tx.channels.getChannel({ id: target.slice(1) });
    return channel?.kind === 'dm' ? null : channel;
  }
  const participant = await tx.participants.getParticipant({ handleKey: keyOf(target) });
  const agent = participant && (await tx.agents.getAgent({ id: participant.id as AgentId }));
  return agent?.terminatedAt === null ? agent : null;
}
