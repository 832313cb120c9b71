import type { AgentId, MessageId } from '../core/ids.ts';
import { REMINDER, type Reminder } from '../core/reminder.ts';
import type { Queries } from './query.ts';

export interface Reminders {
  insertReminder(reminder: Reminder): Promise<void>;
  getReminder(p: { id: string }): Promise<Reminder | null>;
  listReminders(p: { agentId: AgentId }): Promise<Reminder[]>;
  setReminded(p: { id: string; messageId: MessageId }): Promise<void>;
  setLastDue(p: { id: string; due: number }): Promise<void>;
  /** Those that repeat. */
  listRepeated(): Promise<Reminder[]>;
  /** Those that have not fired and were set for a time from then on, when the clock was later than now; with that time. */
  listSetAhead(p: { now: number }): Promise<(Reminder & { readonly due: number })[]>;
  setSetAt(p: { id: string; at: number }): Promise<void>;
  deleteReminder(p: { id: string }): Promise<void>;
  /** Whether its agent has not read the last notice about it yet. */
  isUnread(p: { id: string }): Promise<boolean>;
}

export function reminderQueries({ db, one, all, put, change, count }: Queries): Reminders {
  const unread = count((p: { id: string }) =>
    db
      .selectFrom('reminders')
      .innerJoin('deliveries', (join) =>
        join
          .onRef('deliveries.messageId', '=', 'reminders.messageId')
          .onRef('deliveries.agentId', '=', 'reminders.agentId'),
      )
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('reminders.id', '=', p.id)
      .where('deliveries.state', '=', 'pending'),
  );
  return {
    insertReminder: put((p: Reminder) =>
      db.insertInto('reminders').values({
        id: p.id,
        agentId: p.agentId,
        reason: p.reason,
        everyMs: p.everyMs,
        chainDepth: p.chainDepth,
        payerId: p.payerId,
        messageId: p.messageId,
        lastDue: p.lastDue,
        relative: p.relative,
        createdAt: p.createdAt,
      }),
    ),
    getReminder: one((p: { id: string }) => db.selectFrom('reminders').selectAll().where('id', '=', p.id)),
    listReminders: all((p: { agentId: AgentId }) =>
      db.selectFrom('reminders').selectAll().where('agentId', '=', p.agentId).orderBy('createdAt').orderBy('id'),
    ),
    setReminded: change('reminder', (p: { id: string; messageId: MessageId }) =>
      db.updateTable('reminders').set({ messageId: p.messageId }).where('id', '=', p.id),
    ),
    setLastDue: change('reminder', (p: { id: string; due: number }) =>
      db.updateTable('reminders').set({ lastDue: p.due }).where('id', '=', p.id),
    ),
    listRepeated: all(() => db.selectFrom('reminders').selectAll().where('everyMs', 'is not', null).orderBy('id')),
    listSetAhead: all((p: { now: number }) =>
      db
        .selectFrom('reminders')
        .innerJoin('timers', (join) => join.on('timers.kind', '=', REMINDER).onRef('timers.key', '=', 'reminders.id'))
        .selectAll('reminders')
        .select('timers.due')
        .where('relative', '=', true)
        .where('lastDue', 'is', null)
        .where('createdAt', '>', p.now)
        .orderBy('id'),
    ),
    setSetAt: change('reminder', (p: { id: string; at: number }) =>
      db.updateTable('reminders').set({ createdAt: p.at }).where('id', '=', p.id),
    ),
    deleteReminder: change('reminder', (p: { id: string }) => db.deleteFrom('reminders').where('id', '=', p.id)),
    isUnread: async (p) => (await unread(p)) > 0,
  };
}
