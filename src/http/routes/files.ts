import { createRoute, z } from '@hono/zod-openapi';
import type { Context, TypedResponse } from 'hono';
import type { Agent } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { resolveReference } from '../../messaging/reference.ts';
import type { FilePage, Listed } from '../../workspaces/files.ts';
import { type Env, ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { onNode } from '../elsewhere.ts';
import { AgentDiff, AgentFile } from '../file-schemas.ts';
import { createRouter, describe, errorResponses, type Router } from '../router.ts';

const params = z.strictObject({ id: z.string().openapi({ description: 'REF: an id, a handle, a name or a path.' }) });
const place = {
  path: z.string().max(4_096).default('').openapi({ description: 'Relative to where the agent works.' }),
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
};
const errors = {
  403: 'Not the owner, or a symbolic link.',
  404: 'There is no such agent, or no such file; `.git` and files that usually contain credentials are not shown.',
  409: 'More than one agent has that name.',
  422: "The agent's node cannot show files.",
};

const show = describe(
  {
    method: 'get',
    path: '/{id}/files',
    summary: "Show a directory of an agent's workspace, or a page of a file in it.",
    request: { params, query: z.strictObject({ ...place, encoding: z.enum(['text', 'base64']).default('text') }) },
  },
  { status: 200, description: 'A page has at most 1 MiB.', schema: AgentFile },
  errors,
);
const raw = createRoute({
  method: 'get',
  path: '/{id}/files/raw',
  summary: "Get a page of a file in an agent's workspace as it is.",
  request: { params, query: z.strictObject(place) },
  responses: {
    200: { description: 'At most 1 MiB.', content: { 'text/plain': { schema: z.string() } } },
    ...errorResponses(errors),
  },
});
const diff = describe(
  {
    method: 'get',
    path: '/{id}/diff',
    summary: 'Compare the git workspace or worktree of an agent with its base.',
    request: { params },
  },
  { status: 200, description: 'The differences, with new files. They are what the agent wrote.', schema: AgentDiff },
  {
    404: 'There is no such agent.',
    408: 'It took too long.',
    409: 'More than one agent has that name, or its workspace is not a git repository.',
    422: "The agent's node has no sandbox.",
  },
);

/** A browser must not execute what an agent wrote, whatever it looks like. */
const INERT = { 'x-content-type-options': 'nosniff', 'content-security-policy': "sandbox; default-src 'none'" };

/** What the owner sees of an agent's files. Only the agent's own node has them. */
export function fileRoutes(api: Api): Router {
  const routes = createRouter();
  const ofOwner = (c: Context<Env, string>, reference: string): Promise<Agent> => {
    ownerOnly(c.get('caller'));
    return api.store.read((tx) => resolveReference(tx, reference));
  };
  routes.openapi(show, async (c) => {
    const agent = await ofOwner(c, c.req.valid('param').id);
    const { path, offset, encoding } = c.req.valid('query');
    const here = async () => showFile(agent, path, encoding, await api.readFile(agent, path, offset));
    return c.json(await onNode(api, c, agent.nodeId, here), 200, INERT);
  });
  routes.openapi(raw, async (c) => {
    const agent = await ofOwner(c, c.req.valid('param').id);
    const { path, offset } = c.req.valid('query');
    const query = new URLSearchParams({ path, offset: String(offset), encoding: 'base64' });
    const call = { method: 'GET', path: `/api/agents/${agent.id}/files?${query}`, body: null, key: null, match: null };
    const file =
      agent.nodeId === api.nodeId
        ? showFile(agent, path, 'base64', await api.readFile(agent, path, offset))
        : ((await api.askNode(agent.nodeId, call)) as z.infer<typeof AgentFile>);
    if (file.data === null) throw new SubstratError('bad_request', 'That is a directory.');
    const bytes = Buffer.from(file.data, 'base64');
    const answer = c.body(bytes, 200, { ...INERT, 'content-type': 'text/plain; charset=utf-8' });
    // The route's type knows texts, and these may be any bytes.
    return answer as unknown as TypedResponse<string, 200, 'text'>;
  });
  routes.openapi(diff, async (c) => {
    const agent = await ofOwner(c, c.req.valid('param').id);
    const here = async () => {
      const { files, ...rest } = await api.diffAgent(agent);
      return { agentId: agent.id, ...rest, files: [...files] };
    };
    return c.json(await onNode(api, c, agent.nodeId, here), 200, INERT);
  });
  return routes;
}

function showFile({ id }: Agent, path: string, encoding: string, found: Listed | FilePage): z.infer<typeof AgentFile> {
  const about = { agentId: id, path, kind: found.kind };
  if (found.kind === 'directory') {
    const entries = found.entries.map((entry) => ({ ...entry }));
    return { ...about, entries, truncated: found.truncated, size: null, text: null, data: null, nextOffset: null };
  }
  const { size, bytes, nextOffset } = found;
  const file = { ...about, entries: null, truncated: false, size };
  if (encoding === 'base64') return { ...file, text: null, data: bytes.toString('base64'), nextOffset };
  if (bytes.includes(0)) return { ...file, text: null, data: null, nextOffset };
  const whole = nextOffset === null ? bytes : bytes.subarray(0, bytes.length - cutOff(bytes));
  const next = nextOffset === null ? null : nextOffset - (bytes.length - whole.length);
  return { ...file, text: whole.toString('utf8'), data: null, nextOffset: next };
}

/** How many bytes at the end belong to a character that continues on the next page. */
function cutOff(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
