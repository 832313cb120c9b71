import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { shorten } from '../../core/text.ts';
import { toolsOf } from '../../personas/scope.ts';
import { getInput, searchInput } from '../../tools/knowledge.ts';
import { ownerOnly } from '../access.ts';
import type { KnowledgeDoor } from '../api.ts';
import { rereadRequest } from '../body.ts';
import { createRouter, describe, type Router } from '../router.ts';

const Source = z.strictObject({
  name: z.string(),
  configured: z.boolean(),
  healthy: z.boolean(),
  notes: z.string().nullable(),
});
const Part = z.strictObject({ rank: z.int(), score: z.number() });
const Result = z.strictObject({
  id: z.string().openapi({ description: 'Id of the document.' }),
  score: z.number().min(0).max(1),
  title: z.string().nullable(),
  source: z.string().openapi({ example: 'git:platform' }),
  source_id: z.string(),
  updated_at: z.string(),
  snippet: z.string(),
  source_url: z.string().nullable(),
  explain: z
    .strictObject({
      mode: z.string(),
      alpha: z.number().nullable(),
      chunk: z.strictObject({
        index: z.int(),
        headings: z.array(z.string()),
        from: z.int().nullable(),
        to: z.int().nullable(),
      }),
      keyword: Part.extend({ bm25: z.number() }).nullable(),
      semantic: Part.extend({ cosine: z.number() }).nullable(),
    })
    .optional(),
});
const Document = z.strictObject({
  ...{ id: z.string(), source: z.string(), source_id: z.string(), source_url: z.string().nullable() },
  ...{ title: z.string().nullable(), author: z.string().nullable(), created_at: z.string(), updated_at: z.string() },
  ...{ content_type: z.string(), body: z.string(), metadata: z.record(z.string(), z.unknown()) },
  chunks: z.array(z.strictObject({ index: z.int(), text: z.string() })),
});
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

const search = describe(
  {
    method: 'post',
    path: '/tools/search',
    summary: 'Search the knowledge base.',
    request: { query: scope, body: body(searchInput) },
  },
  { status: 200, description: 'Documents, best first.', schema: list('results', Result).openapi('SearchResults') },
  NO_TOOL,
);
const get = describe(
  {
    method: 'post',
    path: '/tools/get',
    summary: 'Get a document with its chunks.',
    request: { query: scope, body: body(getInput) },
  },
  { status: 200, description: 'The document.', schema: Document.openapi('Document') },
  { 404: 'There is no such document.' },
);
const sources = describe(
  { method: 'get', path: '/tools/sources', summary: 'List the sources of documents.', request: { query: scope } },
  { status: 200, description: 'All sources.', schema: list('sources', Source).openapi('Sources') },
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
    summary: 'Call a tool. Custom tools return `{result}`.',
    request: { params: z.strictObject({ name: z.string() }), query: scope, body: body(args) },
  },
  { status: 200, description: 'The result of the tool.', schema: args },
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
    return tool.call(given);
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
