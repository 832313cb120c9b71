import type { BoundTool, ToolResult } from '../core/bound-tool.ts';
import { showCount } from '../core/counts.ts';
import { SubstratError } from '../core/errors.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Scope } from '../core/scope.ts';
import { shorten } from '../core/text.ts';
import type { ActiveAttempt } from '../runs/attempt.ts';
import { type CallResult, callTool, type ToolDependencies } from '../tools/call.ts';
import { customToolsInScope, toolsInScope } from '../tools/catalog.ts';
import { descriptionFor } from '../tools/tool.ts';

/** The tools in an agent's scope, each bound to that agent; `attempt` is called for every call. */
export async function bindTools(
  deps: ToolDependencies,
  agent: { readonly handle: string; readonly tools: Scope; readonly provider: string },
  attempt: () => Promise<ActiveAttempt>,
): Promise<BoundTool[]> {
  const custom = customToolsInScope(agent.tools, await deps.settings.customTools());
  const external = agent.provider === EXTERNAL;
  const connection = { given: new Set<string>() };
  const call = async (name: string, args: unknown, callId?: string): Promise<ToolResult> => {
    const called = await callTool(deps, await attempt(), name, args, connection, callId);
    if (called) return toResult(called);
    throw new SubstratError('forbidden', `There is no tool "${shorten(name)}" in the scope of ${agent.handle}.`);
  };
  return [...toolsInScope(agent.tools), ...custom].map(({ name, input, ...about }) => ({
    name,
    description: descriptionFor(about, { external }),
    inputSchema: input.shape,
    handler: (args) => call(name, args),
    callAs: (callId, args) => call(name, args, callId),
  }));
}

export function toResult({ result, isError, news }: CallResult): ToolResult {
  const content = [{ type: 'text' as const, text: JSON.stringify(result) }];
  if (news > 0) {
    const messages = news === 1 ? 'message waits' : 'messages wait';
    content.push({ type: 'text', text: `${showCount(news)} ${messages} in your inbox. Call check_inbox to read.` });
  }
  return { content, structuredContent: result, ...(isError && { isError }) };
}
