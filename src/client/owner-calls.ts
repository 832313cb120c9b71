import type { z } from 'zod';
import type * as schemas from '../http/schemas.ts';
import type { Exchange, Page } from './calls.ts';

export type Schedule = z.infer<typeof schemas.Schedule>;
export type ScheduleCreation = z.input<typeof schemas.ScheduleCreation>;

export type OwnerCalls = ReturnType<typeof createOwnerCalls>;

/** Calls that the page does not make. */
export function createOwnerCalls(exchange: Exchange) {
  return {
    listSchedules: () => exchange<Page<Schedule>>('GET', '/api/schedules'),
    createSchedule: (wish: ScheduleCreation) => exchange<Schedule>('POST', '/api/schedules', wish),
    removeSchedule: (name: string) =>
      exchange<{ status: 'removed'; name: string }>('DELETE', `/api/schedules/${encodeURIComponent(name)}`),
  };
}
