import type { Config } from '../config/config.ts';
import { SubstratError } from '../core/errors.ts';
import { cursorAgent } from '../providers/cursor-agent.ts';
import type { Provider } from '../providers/provider.ts';
import { scripted } from '../providers/scripted.ts';
import type { AgentRow } from '../store/store.ts';

/** The providers that this daemon can execute. `external` is none of them: somebody else runs those agents. */
export function createProviders(config: Config, daemonEnv: NodeJS.ProcessEnv): ReadonlyMap<string, Provider> {
  const env = daemonEnv as Record<string, string>;
  const { scripted: script, 'cursor-agent': cursor } = config.providers;
  const providers = [
    scripted({
      nodePath: process.execPath,
      env,
      extraEnv: script?.env ?? {},
      ...(script?.command && { command: script.command, args: script.args }),
    }),
    cursorAgent({
      command: cursor?.command ?? 'cursor-agent',
      args: cursor?.args ?? [],
      force: cursor?.force ?? false,
      env,
      extraEnv: cursor?.env ?? {},
      confined: config.sandbox.mode !== 'none',
    }),
  ];
  return new Map(providers.map((provider) => [provider.name, provider]));
}

/** Whether a provider's program takes all the tools that an agent would have. */
export async function checkTools(
  provider: Provider | undefined,
  agent: Pick<AgentRow, 'workspace' | 'tools'>,
  custom: readonly { readonly name: string }[],
): Promise<void> {
  if (provider?.maxTools === undefined) return;
  // Whoever makes an agent has them loaded; a daemon that starts has not.
  const { countTools } = await import('../tools/catalog.ts');
  const ours = countTools(agent.tools, custom);
  const others = provider.otherTools?.(agent.workspace) ?? 0;
  if (ours + others <= provider.maxTools) return;
  throw new SubstratError(
    'cap_reached',
    `${provider.name} takes ${provider.maxTools} tools: ${ours} are in the agent's scope, and the MCP servers of its workspace have at least ${others}. Give it fewer (--tools), or take servers out of .cursor/mcp.json.`,
  );
}
