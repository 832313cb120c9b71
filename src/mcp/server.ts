import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { shorten } from '../core/text.ts';
import { type ActiveAttempt, scopeNow } from '../runs/attempt.ts';
import { annotationsOf } from '../tools/annotations.ts';
import { callTool, type ToolDependencies } from '../tools/call.ts';
import { customToolsInScope, toolsInScope } from '../tools/catalog.ts';
import { descriptionFor, type Tool } from '../tools/tool.ts';
import { toResult } from './bound.ts';
import type { CallTool } from './transport.ts';

/** The MCP server of one agent in one attempt. It lists and accepts only what is in the attempt's current scope. */
export function createAgentServer(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  agent: Agent,
  {
    version,
    instructions,
    callTool: call,
  }: { readonly version: string; readonly instructions?: string | undefined; readonly callTool: CallTool },
): Server {
  const options = {
    capabilities: { tools: { listChanged: true } },
    ...(instructions !== undefined && { instructions }),
  };
  const server = new Server({ name: 'substrat', version }, options);
  server.setRequestHandler('tools/list', async () => {
    const scope = await deps.store.read((tx) => scopeNow(tx, attempt));
    const custom = customToolsInScope(scope, await deps.settings.customTools());
    return { tools: [...toolsInScope(scope), ...custom].map((tool) => published(tool, attempt)) };
  });
  server.setRequestHandler('tools/call', async ({ params }) => {
    const result = await call(params.name, params.arguments);
    if (!result) {
      const message = `There is no tool "${shorten(params.name)}" in the scope of ${agent.handle}.`;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
    }
    return { ...result };
  });
  return server;
}

export function createToolCaller(deps: ToolDependencies, attempt: ActiveAttempt): CallTool {
  const connection = { given: new Set<string>() };
  return async (name, args) => {
    const called = await callTool(deps, attempt, name, args, connection);
    return called && toResult(called);
  };
}

type Published = Pick<Tool, 'name' | 'description' | 'externalDescription' | 'input'> &
  Partial<Pick<Tool, 'effect' | 'annotations'>>;
const schemas = new WeakMap<Published, { type: 'object' }>();

function published(tool: Published, attempt: Attempt) {
  const inputSchema = schemas.get(tool) ?? (z.toJSONSchema(tool.input, { io: 'input' }) as { type: 'object' });
  schemas.set(tool, inputSchema);
  const annotations = annotationsOf(tool);
  return {
    name: tool.name,
    description: descriptionFor(tool, attempt),
    inputSchema,
    ...(annotations && { annotations: { ...annotations } }),
  };
}
