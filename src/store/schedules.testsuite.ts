import { describe, expect, test } from 'vitest';
import { newId } from '../core/id.ts';
import type { Schedule } from '../core/schedule.ts';
import type { StoreKit } from './store.testkit.ts';

export function testSchedules({ read, write }: StoreKit): void {
  const add = async (name: string, change: Partial<Schedule> = {}): Promise<Schedule> => {
    const schedule: Schedule = {
      id: newId(),
      name,
      nameKey: name.toLowerCase(),
      cron: '0 8 * * *',
      timeZone: 'UTC',
      target: 'lead',
      text: 'Good morning',
      runs: 20,
      toldSpent: false,
      nodeId: null,
      messageId: null,
      lastDue: null,
      lastAt: null,
      error: null,
      createdAt: 5,
      ...change,
    };
    await write((tx) => tx.schedules.insertSchedule(schedule));
    return schedule;
  };

  describe('schedules', () => {
    test('are found by name and by the node that has them in its configuration', async () => {
      const [name, nodeId] = [`Z-${newId()}`, newId()];
      const one = await add(name);
      const other = await add(`A-${newId()}`, { nodeId });
      await expect(add(name.toUpperCase())).rejects.toThrow();
      expect(await read((tx) => tx.schedules.getScheduleNamed({ nameKey: one.nameKey }))).toEqual(one);
      expect(await read((tx) => tx.schedules.listConfiguredSchedules({ nodeId }))).toEqual([other]);
      const all = (await read((tx) => tx.schedules.listSchedules())).map(({ id }) => id);
      expect(all.indexOf(other.id)).toBeLessThan(all.indexOf(one.id));
      await write((tx) => tx.schedules.deleteSchedule({ id: one.id }));
      expect(await read((tx) => tx.schedules.getSchedule({ id: one.id }))).toBeNull();
      await expect(write((tx) => tx.schedules.deleteSchedule({ id: one.id }))).rejects.toThrow('no schedule');
    });

    test('remember what they fired for, and are changed without forgetting it', async () => {
      const one = await add(newId());
      const { id } = one;
      await write((tx) => tx.schedules.setFired({ id, messageId: 'm', due: 2 ** 41, at: 2 ** 41 + 1, error: 'why' }));
      const changed = { name: one.name.toUpperCase(), cron: '1 8 * * *', timeZone: 'Europe/Berlin', target: '#hall' };
      await write((tx) => tx.schedules.setSchedule({ id, ...changed, text: 'Hi', runs: 5 }));
      const fired = { messageId: 'm', lastDue: 2 ** 41, lastAt: 2 ** 41 + 1, error: 'why' };
      const expected = { ...one, ...changed, text: 'Hi', runs: 5, ...fired };
      expect(await read((tx) => tx.schedules.getSchedule({ id }))).toEqual(expected);
    });

    test('know that their owner was told, until they fire again', async () => {
      const { id } = await add(newId());
      await write((tx) => tx.schedules.setToldSpent({ id }));
      expect(await read((tx) => tx.schedules.getSchedule({ id }))).toMatchObject({ toldSpent: true });
      await write((tx) => tx.schedules.renewAllowance({ id }));
      expect(await read((tx) => tx.schedules.getSchedule({ id }))).toMatchObject({ toldSpent: false });
    });
  });
}
