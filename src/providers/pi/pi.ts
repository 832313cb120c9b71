import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind } from '../../core/command.ts';
import { SubstratError } from '../../core/errors.ts';
import { OWN_KINDS } from '../../core/own-tool.ts';
import { replaceInHome } from '../agent-home.ts';
import { SERVER } from '../calls.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { readServer } from '../mcp-config.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, Turn } from '../provider.ts';
import { pi as about } from './describe.ts';
import { createDialogue } from './dialogue.ts';

export interface PiOptions extends CodingOptions {
  /** The directory of its extension for MCP servers. */
  readonly mcpAdapter: string | null;
}

/** Its settings and sessions are the agent's own, also without a sandbox. */
const DIRECTORY = '.pi/agent';
const INSTRUCTIONS = '.substrat/instructions.md';

const access: ModelAccess = {
  dialect: 'openai',
  variable: 'OPENAI_BASE_URL',
  url: 'https://api.openai.com/v1',
  keys: { OPENAI_API_KEY: bearer },
};

/** Turns of pi in its RPC mode: a fresh process for each turn. */
export function pi(given: PiOptions): Provider {
  const { options, address, endpoints } = keepKeys(given, access);
  return cliProvider(options, {
    about,
    unjudged: options.ownTools ? OWN_KINDS : [],
    filesInWorkspace: false,
    files: (turn) => {
      const { home } = turn.launch;
      replaceInHome(home, INSTRUCTIONS, turn.instructions);
      replaceInHome(home, `${DIRECTORY}/models.json`, address === null ? null : modelsAt(address, turn.model));
      replaceInHome(home, `${DIRECTORY}/mcp.json`, serversOf(turn));
      return () => {};
    },
    env: ({ launch }) => ({ PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_CODING_AGENT_DIR: join(launch.home, DIRECTORY) }),
    needs: () => ({ binds: bindsOf(options.mcpAdapter), ...(endpoints.length > 0 && { endpoints }) }),
    args: (turn, session) => [
      ...['--mode', 'rpc', '--no-skills', '--no-context-files', '--no-approve'],
      ...(address === null ? [] : ['--provider', SERVER]),
      ...(turn.model === null ? [] : ['--model', turn.model]),
      ...['--append-system-prompt', join(turn.launch.home, INSTRUCTIONS)],
      ...['-ne', '-e', adapterOf(options.mcpAdapter)],
      ...(options.ownTools ? [] : ['--no-builtin-tools']),
      ...(session === null ? [] : ['--session', session]),
    ],
    dialogue: createDialogue,
  });
}

function adapterOf(directory: string | null): string {
  if (directory !== null && existsSync(directory)) return directory;
  const message =
    'pi cannot use MCP servers without its extension pi-mcp-adapter. Install it (npm install -g pi-mcp-adapter) and set its directory: `[providers.pi] mcp_adapter`.';
  throw new SubstratError('bad_request', message);
}

/** With the packages around it, which it needs. */
function bindsOf(directory: string | null): Bind[] {
  if (directory === null) return [];
  const [root = directory] = /^.*\/node_modules(?=\/)/.exec(directory) ?? [];
  return [{ source: root, target: root, mode: 'ro' }];
}

function modelsAt(baseUrl: string, model: string | null): string {
  const models = model === null ? [] : [{ id: model }];
  const provider = { baseUrl, api: 'openai-completions', apiKey: '$OPENAI_API_KEY', models };
  return JSON.stringify({ providers: { [SERVER]: provider } });
}

function serversOf({ launch }: Turn): string {
  const server = readServer(launch.mcpConfig);
  const entry = server && { ...server, lifecycle: 'eager', directTools: true };
  return JSON.stringify({ mcpServers: entry ? { [SERVER]: entry } : {} });
}
