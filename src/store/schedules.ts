import type { MessageId, NodeId } from '../core/ids.ts';
import type { Schedule } from '../core/schedule.ts';
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
  deleteSchedule(p: { id: string }): Promise<void>;
  /** Those of a configuration. */
  listConfiguredSchedules(p: { nodeId: NodeId }): Promise<Schedule[]>;
}

export function scheduleQueries({ db, one, all, put, change }: Queries): Schedules {
  const schedules = () => db.selectFrom('schedules').selectAll();
  return {
    insertSchedule: put((p: Schedule) =>
      db.insertInto('schedules').values({
        id: p.id,
        name: p.name,
        nameKey: p.nameKey,
        cron: p.cron,
        timeZone: p.timeZone,
        target: p.target,
        text: p.text,
        runs: p.runs,
        nodeId: p.nodeId,
        messageId: p.messageId,
        lastDue: p.lastDue,
        lastAt: p.lastAt,
        error: p.error,
        createdAt: p.createdAt,
      }),
    ),
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
    deleteSchedule: change('schedule', (p: { id: string }) => db.deleteFrom('schedules').where('id', '=', p.id)),
    listConfiguredSchedules: all((p: { nodeId: NodeId }) =>
      schedules().where('nodeId', '=', p.nodeId).orderBy('nameKey'),
    ),
  };
}
