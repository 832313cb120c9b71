import { z } from '@hono/zod-openapi';
import { checkName, keyOf } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { SCHEDULED } from '../../core/people.ts';
import { nextDue, type Schedule as StoredSchedule } from '../../core/schedule.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { addSchedule, removeSchedule, targetOf } from '../../messaging/schedules.ts';
import type { Tx } from '../../store/store.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { pageOf, Schedule, ScheduleCreation, ScheduleRemoved } from '../schemas.ts';
import { showTime } from '../shown.ts';

const list = describe(
  { method: 'get', path: '/', summary: 'List schedules by name.' },
  { status: 200, description: 'All of them.', schema: pageOf(Schedule) },
);
const create = describe(
  {
    method: 'post',
    path: '/',
    summary: 'Add a schedule: a message that is sent at times of the wall clock, as yourself.',
    request: { body: { required: true, content: { 'application/json': { schema: ScheduleCreation } } } },
  },
  { status: 201, description: 'The schedule.', schema: Schedule },
  { 404: 'There is no such agent or channel.', 409: 'The name is taken.' },
);
const remove = describe(
  {
    method: 'delete',
    path: '/{name}',
    summary: 'Remove a schedule that a person added.',
    request: { params: z.strictObject({ name: z.string() }) },
  },
  { status: 200, description: 'Removed.', schema: ScheduleRemoved },
  { 404: 'There is no such schedule.', 409: 'The configuration has it.' },
);

export function scheduleRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const [rows, runs] = await api.store.read((tx) =>
      Promise.all([tx.schedules.listSchedules(), tx.trees.listPersonRuns({ from: SCHEDULED, to: SCHEDULED })]),
    );
    const used = new Map(runs.map((one) => [one.personId, one.runs]));
    const items = rows.map((row) => show(row, used.get(row.id) ?? 0, api.clock()));
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(create, async (c) => {
    ownerOnly(c.get('caller'));
    const { to, timeZone = api.config.daemon.timeZone, ...wish } = c.req.valid('json');
    checkName(wish.name);
    const made = await api.store.write(async (tx) =>
      addSchedule(tx, { ...wish, timeZone, target: await targetNamed(tx, to) }, null, api.clock()),
    );
    return c.json(show(made, 0, api.clock()), 201);
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const { name } = c.req.valid('param');
    await api.store.write(async (tx) => {
      const found = await tx.schedules.getScheduleNamed({ nameKey: keyOf(name) });
      if (!found) throw new SubstratError('not_found', `There is no schedule "${name.slice(0, 80)}".`);
      if (found.nodeId !== null) {
        throw new SubstratError('conflict', `${found.name} is in the configuration. Remove it there.`);
      }
      await removeSchedule(tx, found);
    });
    return c.json({ status: 'removed' as const, name }, 200);
  });
  return routes;
}

/** A REF becomes a handle, which never changes. */
async function targetNamed(tx: Tx, to: string): Promise<string> {
  if (!to.startsWith('#')) return (await resolveReference(tx, to)).handle;
  if (await targetOf(tx, to)) return to;
  throw new SubstratError('not_found', `There is no channel ${to.slice(0, 80)}.`);
}

function show(row: StoredSchedule, usedRuns: number, now: number) {
  const next = nextDue(row, now);
  return {
    name: row.name,
    cron: row.cron,
    timeZone: row.timeZone,
    to: row.target,
    text: row.text,
    runs: row.runs,
    usedRuns,
    origin: row.nodeId === null ? ('person' as const) : ('configuration' as const),
    next: next === null ? null : showTime(next),
    last: row.lastAt === null ? null : showTime(row.lastAt),
    messageId: row.messageId,
    error: row.error,
  };
}
