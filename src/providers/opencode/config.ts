import { SERVER } from '../calls.ts';
import { readServer } from '../mcp-config.ts';
import type { Turn } from '../provider.ts';

/** The name of our agent and, if the address of the model is ours, of its provider. */
export const NAME = SERVER;

/** The configuration of a turn as JSON. No rule may be `ask`: nobody can be asked, and the program would wait. */
export function configOf(
  turn: Turn,
  { ownTools, address, instructions }: { ownTools: boolean; address: string | null; instructions: string },
): string {
  const server = readServer(turn.launch.mcpConfig);
  const mcp = server && {
    type: 'local',
    command: [server.command, ...server.args],
    environment: server.env,
    enabled: true,
    timeout: 600_000,
  };
  const permission = ownTools
    ? // `task` starts agents outside of Substrat.
      { '*': 'allow', external_directory: 'allow', doom_loop: 'allow', task: 'deny', question: 'deny' }
    : { '*': 'deny', [`${SERVER}_*`]: 'allow' };
  return JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    permission,
    instructions: [instructions],
    agent: { [NAME]: { mode: 'primary', permission } },
    ...(mcp && { mcp: { [SERVER]: mcp } }),
    ...(address !== null && { provider: { [NAME]: providerAt(address, turn.model) }, enabled_providers: [NAME] }),
  });
}

function providerAt(address: string, model: string | null) {
  return {
    npm: '@ai-sdk/openai-compatible',
    name: NAME,
    options: { baseURL: address, apiKey: '{env:OPENAI_API_KEY}' },
    models: model === null ? {} : { [model]: {} },
  };
}
