import type { Answer } from '../../tools/answer.ts';
import { createRouter, type Router } from '../router.ts';

/** For `ctx search` on the owner's socket; not part of the documented API. */
export function answerRoutes(answer: (given: unknown) => Promise<Answer>): Router {
  const routes = createRouter();
  routes.post('/ctx/search', async (c) => c.json(await answer(await c.req.json())));
  return routes;
}
