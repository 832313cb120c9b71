import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Findings, LogEntry, line, pageOf } from '../schemas.ts';

const doctor = describe(
  { method: 'get', path: '/doctor', summary: 'Check the installation of this node, as `substrat doctor` does.' },
  { status: 200, description: 'What was checked, with fixes.', schema: Findings },
);
const log = describe(
  {
    method: 'get',
    path: '/log',
    summary: "List the newest entries of this node's log, newest first. It contains no messages, prompts or arguments.",
    request: {
      query: z.strictObject({
        level: LogEntry.shape.level.default('info').openapi({ description: 'Entries of this level and above.' }),
        q: line(200).optional().openapi({ description: 'Only entries with this text.' }),
        limit: z.coerce.number().int().min(1).max(500).default(100),
      }),
    },
  },
  { status: 200, description: 'The entries in the last megabyte of the log.', schema: pageOf(LogEntry) },
);

/** How this node is. */
export function healthRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(doctor, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json({ findings: [...(await api.examine())] }, 200);
  });
  routes.openapi(log, async (c) => {
    ownerOnly(c.get('caller'));
    const { level, q, limit } = c.req.valid('query');
    const entries = await api.readLog({ level, text: q ?? '', limit });
    const items = entries.map(({ at, ...entry }) => ({ ...entry, at: new Date(at).toISOString() }));
    return c.json({ items, nextCursor: null }, 200);
  });
  return routes;
}
