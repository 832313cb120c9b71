import type { MessageId, NodeId } from '../core/ids.ts';
import type { Schedule } from '../core/schedule.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';

export interface Schedules {
  insertSchedule(schedule: Schedule): Promise<void>;
  getSchedule(p: { id: string }): Promise<Schedule | null>;
  getScheduleNamed(p: { nameKey: string }): Promise<Schedule | null>;
  /** By name. */
  listSchedules(): Promise<Schedule[]>;
  /** What the configuration says now. */
  setSchedule(p: Pick<Schedule, 'id' | 'name' | 'cron' | 'timeZone' | 'target' | 'text' | 'runs'>): Promise<void>;
  setFired(p: {
    id: string;
    messageId: MessageId | null;
    due: number;
    at: number;
    error: string | null;
  }): Promise<void>;
  /** What it started, and nobody has paid for yet, is paid by the trees. */
  deleteSchedule(p: { id: string }): Promise<void>;
  /** It fires: it may pay for all its runs again. */
  renewAllowance(p: { id: string }): Promise<void>;
  setToldSpent(p: { id: string }): Promise<void>;
  /** Those of a configuration. */
  listConfiguredSchedules(p: { nodeId: NodeId }): Promise<Schedule[]>;
}

export function scheduleQueries({ db, one, all, put, putAnd, change }: Queries, batch: BatchState): Schedules {
  const unpay = (['messages', 'runs', 'reminders', 'subscriptions'] as const).map((table) =>
    put((p: { id: string }) => db.updateTable(table).set({ payerId: null }).where('payerId', '=', p.id)),
  );
  const forget = put((p: { id: string }) => db.deleteFrom('person_runs').where('personId', '=', p.id));
  const insertPayer = put((p: { id: string; handle: string; createdAt: number }) =>
    db
      .insertInto('participants')
      .values({ id: p.id, kind: 'system', handle: p.handle, handleKey: p.handle, createdAt: p.createdAt }),
  );
  const insert = put((p: Schedule) =>
    db.insertInto('schedules').values({
      id: p.id,
      name: p.name,
      nameKey: p.nameKey,
      cron: p.cron,
      timeZone: p.timeZone,
      target: p.target,
      text: p.text,
      runs: p.runs,
      toldSpent: p.toldSpent,
      nodeId: p.nodeId,
      messageId: p.messageId,
      lastDue: p.lastDue,
      lastAt: p.lastAt,
      error: p.error,
      createdAt: p.createdAt,
    }),
  );
  const remove = change('schedule', (p: { id: string }) => db.deleteFrom('schedules').where('id', '=', p.id));
  const renew = putAnd(
    (p: { id: string }) => db.updateTable('schedules').set({ toldSpent: false }).where('id', '=', p.id),
    () => {
      batch.runnable = true;
    },
  );
  const schedules = () => db.selectFrom('schedules').selectAll();
  return {
    insertSchedule: async (p) => {
      await insertPayer({ id: p.id, handle: `schedule:${p.id}`, createdAt: p.createdAt });
      await insert(p);
    },
    getSchedule: one((p: { id: string }) => schedules().where('id', '=', p.id)),
    getScheduleNamed: one((p: { nameKey: string }) => schedules().where('nameKey', '=', p.nameKey)),
    listSchedules: all(() => schedules().orderBy('nameKey')),
    setSchedule: change(
      'schedule',
      (p: Pick<Schedule, 'id' | 'name' | 'cron' | 'timeZone' | 'target' | 'text' | 'runs'>) =>
        db
          .updateTable('schedules')
          .set({ name: p.name, cron: p.cron, timeZone: p.timeZone, target: p.target, text: p.text, runs: p.runs })
          .where('id', '=', p.id),
    ),
    setFired: change(
      'schedule',
      (p: { id: string; messageId: MessageId | null; due: number; at: number; error: string | null }) =>
        db
          .updateTable('schedules')
          .set({ messageId: p.messageId, lastDue: p.due, lastAt: p.at, error: p.error })
          .where('id', '=', p.id),
    ),
    deleteSchedule: async (p) => {
      for (const query of [...unpay, forget]) await query(p);
      await remove(p);
      batch.runnable = true;
    },
    renewAllowance: async (p) => {
      await forget(p);
      await renew(p);
    },
    setToldSpent: change('schedule', (p: { id: string }) =>
      db.updateTable('schedules').set({ toldSpent: true }).where('id', '=', p.id),
    ),
    listConfiguredSchedules: all((p: { nodeId: NodeId }) =>
      schedules().where('nodeId', '=', p.nodeId).orderBy('nameKey'),
    ),
  };
}
