import { SubstratError } from '../core/errors.ts';
import { expandScope, isInScope, type Scope } from '../core/scope.ts';
import { shorten } from '../core/text.ts';
import { doNothing, reactToMessage, readChannel, searchMessagesTool } from './channel.ts';
import { gateTool, permitTurn, ungateTool } from './gates.ts';
import { inspectAgent } from './inspect.ts';
import { getTool, searchTool, sourcesTool } from './knowledge.ts';
import { searchMemory, storeMemory, updateMemory } from './memory.ts';
import { askPersonTool } from './questions.ts';
import { cancelReminderTool, remindMe } from './reminders.ts';
import { spawnAgent } from './spawn.ts';
import { poke, setAgentMetadata, terminateAgentTool } from './steering.ts';
import { subscribeTool, unsubscribeTool } from './subscriptions.ts';
import { broadcastTool, checkInbox, complete, listAgents, sendMessage } from './team.ts';
import type { Tool } from './tool.ts';
import { createWorkspaceTool, deleteWorkspaceTool, linkDir, listWorkspaces, unlinkDir } from './workspaces.ts';

/** Every built-in tool, in the order of `tools/list`. */
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
  searchMessagesTool,
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
  askPersonTool,
  remindMe,
  cancelReminderTool,
  gateTool,
  ungateTool,
  permitTurn,
  poke,
  terminateAgentTool,
  setAgentMetadata,
  subscribeTool,
  unsubscribeTool,
];

const byName = new Map(catalog.map((tool) => [tool.name, tool]));

/** The built-in tools that an agent may see and call; a scope implies no other tools. */
export function toolsInScope(scope: Scope): readonly Tool[] {
  return customToolsInScope(scope, catalog);
}

/** The built-in tool with this name. */
export function findTool(name: string): Tool | undefined {
  return byName.get(name);
}

/** The same for custom tools. */
export function customToolsInScope<Custom extends { readonly name: string }>(
  scope: Scope,
  custom: readonly Custom[],
): readonly Custom[] {
  return custom.filter(({ name }) => isInScope(scope, name));
}

export function countTools(scope: Scope, custom: readonly { readonly name: string }[]): number {
  return toolsInScope(scope).length + customToolsInScope(scope, custom).length;
}

/** `custom` are the names of all other tools. */
export function checkScope(names: readonly string[], custom: readonly string[]): void {
  const all = [...catalog.map((tool) => tool.name), ...custom];
  const unknown = expandScope(names).filter((name) => !all.includes(name));
  if (unknown.length === 0) return;
  const known = all.join(', ');
  throw new SubstratError('bad_request', `Unknown tools: ${shorten(unknown.join(', '), 400)}. There are: ${known}.`);
}
