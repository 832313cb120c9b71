import { describe, expect, test } from 'vitest';
import { newId } from '../core/id.ts';
import { REMINDER, type Reminder } from '../core/reminder.ts';
import { addAgent, type StoreKit, send } from './store.testkit.ts';

export function testReminders({ read, write }: StoreKit): void {
  const add = (agentId: string, change: Partial<Reminder> = {}) =>
    write(async (tx) => {
      const reminder: Reminder = {
        id: newId(),
        agentId,
        reason: 'the tests',
        everyMs: null,
        chainDepth: 1,
        payerId: null,
        messageId: null,
        lastDue: null,
        relative: false,
        createdAt: 5,
        ...change,
      };
      await tx.reminders.insertReminder(reminder);
      return reminder;
    });

  describe('reminders', () => {
    test('are listed for their agent, in the order in which they were set', async () => {
      const [a, b] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
      const later = await add(a.id, { createdAt: 9, everyMs: 2 ** 40 });
      const first = await add(a.id, { createdAt: 2 });
      await add(b.id);
      expect(await read((tx) => tx.reminders.listReminders({ agentId: a.id }))).toEqual([first, later]);
      await write((tx) => tx.reminders.deleteReminder({ id: first.id }));
      expect(await read((tx) => tx.reminders.listReminders({ agentId: a.id }))).toEqual([later]);
      expect(await read((tx) => tx.reminders.getReminder({ id: first.id }))).toBeNull();
      await write((tx) => tx.reminders.setLastDue({ id: later.id, due: 2 ** 41 }));
      const repeated = await read((tx) => tx.reminders.listRepeated());
      expect(repeated.filter(({ agentId }) => agentId === a.id)).toEqual([{ ...later, lastDue: 2 ** 41 }]);
      await expect(write((tx) => tx.reminders.deleteReminder({ id: first.id }))).rejects.toThrow('no reminder');
    });

    test('that were set while the clock was ahead, for a time from then on, are found with it', async () => {
      const a = await write((tx) => addAgent(tx));
      const ahead = await add(a.id, { relative: true, createdAt: 2 ** 41 });
      await add(a.id, { relative: false, createdAt: 2 ** 41 });
      await add(a.id, { relative: true, createdAt: 2 ** 41, lastDue: 5 });
      await write((tx) => tx.timers.setTimer({ kind: REMINDER, key: ahead.id, due: 2 ** 42 }));
      const found = async (now: number) =>
        (await read((tx) => tx.reminders.listSetAhead({ now }))).filter(({ agentId }) => agentId === a.id);
      expect(await found(2 ** 41 - 1)).toEqual([{ ...ahead, due: 2 ** 42 }]);
      expect(await found(2 ** 41)).toEqual([]);
      await write((tx) => tx.reminders.setSetAt({ id: ahead.id, at: 7 }));
      expect(await found(6)).toEqual([{ ...ahead, createdAt: 7, due: 2 ** 42 }]);
      await write((tx) => tx.timers.tryCancelTimer({ kind: REMINDER, key: ahead.id }));
    });

    test('are unread as long as their last notice is pending', async () => {
      const [a, b] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
      const { id } = await add(a.id);
      const isUnread = () => read((tx) => tx.reminders.isUnread({ id }));
      expect(await isUnread()).toBe(false);
      const other = await write((tx) => send(tx, { to: a, from: b.id }));
      expect(await isUnread()).toBe(false);
      await write((tx) => tx.reminders.setReminded({ id, messageId: other }));
      expect(await isUnread()).toBe(true);
      await write((tx) => tx.deliveries.killDeliveriesTo({ agentId: a.id }));
      expect(await isUnread()).toBe(false);
      await expect(write((tx) => tx.reminders.setReminded({ id: 'none', messageId: other }))).rejects.toThrow();
    });
  });
}
