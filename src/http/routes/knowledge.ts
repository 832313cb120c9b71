import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { shorten } from '../../core/text.ts';
import { toolsOf } from '../../personas/scope.ts';
import { getInput, searchInput } from '../../tools/knowledge.ts';
import { getOutput, searchOutput, sourcesOutput } from '../../tools/results.ts';
import { ownerOnly } from '../access.ts';
import type { KnowledgeDoor } from '../api.ts';
import { rereadRequest } from '../body.ts';
import { createRouter, describe, type Router } from '../router.ts';

const ToolInfo = z.strictObject({
  name: z.string(),
  description: z.string(),
  builtin: z.boolean(),
  parameters: z.record(z.string(), z.unknown()).openapi({ description: 'JSON schema of its parameters.' }),
});
const body = <S extends z.ZodType>(schema: S) => ({ required: true, content: { 'application/json': { schema } } });
const args = z.record(z.string(), z.unknown());
const scope = z.strictObject({
  agent: z.string().optional().openapi({ description: 'A persona: only the tools it lists are available.' }),
});
const NO_TOOL = { 404: 'There is no such agent, or it has no such tool.', 408: 'The tool timed out (`timeout`).' };
const list = <S extends z.ZodType>(name: string, schema: S) => z.strictObject({ [name]: z.array(schema) });

/** Only schemas of the extended zod have a name in the document. */
const named = (name: string, { shape }: z.ZodObject) => z.strictObject(shape).openapi(name);

/** Every tool's answer has this form, as Context Harness's has. */
const answer = <S extends z.ZodType>(result: S) => z.strictObject({ result });

const search = describe(
  {
    method: 'post',
    path: '/tools/search',
    summary: 'Search the knowledge base.',
    request: { query: scope, body: body(searchInput) },
  },
  { status: 200, description: 'Documents, best first.', schema: answer(named('SearchResults', searchOutput)) },
  NO_TOOL,
);
const get = describe(
  {
    method: 'post',
    path: '/tools/get',
    summary: 'Get a document with its chunks.',
    request: { query: scope, body: body(getInput) },
  },
  { status: 200, description: 'The document.', schema: answer(named('Document', getOutput)) },
  { 404: 'There is no such document.' },
);
const sources = describe(
  { method: 'get', path: '/tools/sources', summary: 'List the sources of documents.', request: { query: scope } },
  { status: 200, description: 'All sources.', schema: answer(named('Sources', sourcesOutput)) },
  NO_TOOL,
);
const tools = describe(
  { method: 'get', path: '/tools/list', summary: 'List the tools.', request: { query: scope } },
  { status: 200, description: 'All tools, or those of a persona.', schema: list('tools', ToolInfo).openapi('Tools') },
  NO_TOOL,
);
const call = describe(
  {
    method: 'post',
    path: '/tools/{name}',
    summary: 'Call a tool.',
    request: { params: z.strictObject({ name: z.string() }), query: scope, body: body(args) },
  },
  { status: 200, description: 'The result of the tool.', schema: answer(z.unknown()) },
  NO_TOOL,
);

/** Seed 004's routes: `/tools/…`, and `/mcp`. */
export function knowledgeRoutes({ tools: served, personas, mcp }: KnowledgeDoor): Router {
  const routes = createRouter();
  const inScope = async (agent: string | undefined) =>
    agent === undefined ? served.list() : toolsOf(await personas(), agent, await served.list());
  const run = async (name: string, given: unknown, agent?: string) => {
    const tool = (await inScope(agent)).find((one) => one.name === name);
    if (!tool)
      throw new SubstratError('not_found', `There is no tool "${shorten(name)}"; GET /tools/list returns all tools.`);
    const returned = await tool.call(given);
    return tool.builtin ? { result: returned } : returned;
  };
  routes.openapi(search, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json((await run('search', c.req.valid('json'), c.req.valid('query').agent)) as never, 200);
  });
  routes.openapi(get, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json((await run('get', c.req.valid('json'), c.req.valid('query').agent)) as never, 200);
  });
  routes.openapi(sources, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json((await run('sources', {}, c.req.valid('query').agent)) as never, 200);
  });
  routes.openapi(tools, async (c) => {
    ownerOnly(c.get('caller'));
    const all = (await inScope(c.req.valid('query').agent)).map(({ name, description, builtin, parameters }) => ({
      name,
      description,
      builtin,
      parameters,
    }));
    return c.json({ tools: all } as never, 200);
  });
  routes.openapi(call, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json(
      (await run(c.req.valid('param').name, c.req.valid('json'), c.req.valid('query').agent)) as never,
      200,
    );
  });
  // Not part of the documented API: MCP defines its requests and responses.
  routes.all('/mcp', async (c) => {
    ownerOnly(c.get('caller'));
    return mcp(await rereadRequest(c));
  });
  return routes;
}
