import { Hono } from 'hono';
import { shorten } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import type { Api } from '../api.ts';

export function runRoutes(api: Api): Hono {
  const routes = new Hono();
  routes.get('/:id', async (c) => {
    const run = await api.store.read((tx) => tx.getRun({ id: c.req.param('id') }));
    if (!run) throw new SubstratError('not_found', `There is no run ${shorten(c.req.param('id'))}.`);
    return c.json({
      id: run.id,
      agentId: run.agent_id,
      state: run.state,
      attempt: run.attempt,
      stopReason: run.stop_reason,
      error: run.error,
    });
  });
  routes.post('/:id/cancel', async (c) => {
    await api.cancelRun(c.req.param('id'), 'A person cancelled the run.');
    return c.json({ status: 'cancelled', runId: c.req.param('id') });
  });
  return routes;
}
