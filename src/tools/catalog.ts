import { shorten } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentRow } from '../store/store.ts';
import { doNothing, reactToMessage, readChannel } from './channel.ts';
import { inspectAgent } from './inspect.ts';
import { getTool, searchTool, sourcesTool } from './knowledge.ts';
import { searchMemory, storeMemory, updateMemory } from './memory.ts';
import { spawnAgent } from './spawn.ts';
import { broadcastTool, checkInbox, complete, listAgents, sendMessage } from './team.ts';
import type { Tool } from './tool.ts';
import { createWorkspaceTool, deleteWorkspaceTool, linkDir, listWorkspaces, unlinkDir } from './workspaces.ts';

/** Every tool of ours, in the order of `tools/list`. */
const catalog: readonly Tool[] = [
  sendMessage,
  broadcastTool,
  checkInbox,
  spawnAgent,
  inspectAgent,
  listAgents,
  complete,
  reactToMessage,
  doNothing,
  readChannel,
  updateMemory,
  searchMemory,
  storeMemory,
  searchTool,
  getTool,
  sourcesTool,
  createWorkspaceTool,
  linkDir,
  unlinkDir,
  listWorkspaces,
  deleteWorkspaceTool,
];

/** The tools of ours that an agent may see and call; nothing is implied by a scope. */
export function toolsInScope(agent: Pick<AgentRow, 'tools'>): readonly Tool[] {
  if (agent.tools === null) return catalog;
  const scope = new Set(JSON.parse(agent.tools) as string[]);
  return catalog.filter((tool) => scope.has(tool.name));
}

/** The same of tools that are none of ours. */
export function customToolsInScope<Custom extends { readonly name: string }>(
  { tools }: Pick<AgentRow, 'tools'>,
  custom: readonly Custom[],
): readonly Custom[] {
  if (tools === null) return custom;
  const scope = new Set(JSON.parse(tools) as string[]);
  return custom.filter(({ name }) => scope.has(name));
}

export function countTools(agent: Pick<AgentRow, 'tools'>, custom: readonly { readonly name: string }[]): number {
  return toolsInScope(agent).length + customToolsInScope(agent, custom).length;
}

/** `custom` are the names of all other tools. */
export function checkScope(names: readonly string[], custom: readonly string[]): void {
  const all = [...catalog.map((tool) => tool.name), ...custom];
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length === 0) return;
  const known = all.join(', ');
  throw new SubstratError('bad_request', `Unknown tools: ${shorten(unknown.join(', '), 400)}. There are: ${known}.`);
}
