import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { OWN_KINDS } from '../../core/own-tool.ts';
import { replaceInHome } from '../agent-home.ts';
import { SERVER } from '../calls.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { readServer } from '../mcp-config.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, Turn } from '../provider.ts';
import { copilot as about } from './describe.ts';
import { createParser } from './parse.ts';

/** Its settings and sessions are the agent's own, also without a sandbox. */
const HOME = '.copilot';
const SERVERS = '.substrat/copilot-mcp.json';
/** GitHub's service, for an account with Copilot. */
const HOSTS = ['api.github.com', 'api.githubcopilot.com', '*.githubcopilot.com', 'copilot-proxy.githubusercontent.com'];
/** Agents outside of Substrat, and a search that would hide tools. */
const EXCLUDED = ['task', 'read_agent', 'list_agents', 'write_agent', 'tool_search_tool', 'session_store_sql'];

const access: ModelAccess = {
  dialect: 'openai',
  variable: 'COPILOT_PROVIDER_BASE_URL',
  url: null,
  keys: { COPILOT_PROVIDER_API_KEY: bearer },
};

/** Turns of GitHub Copilot CLI. */
export function copilot(given: CodingOptions): Provider {
  const { options, address, endpoints } = keepKeys(given, access);
  const { ownTools } = options;
  return cliProvider(options, {
    about,
    unjudged: ownTools ? OWN_KINDS : [],
    filesInWorkspace: false,
    files: ({ launch, instructions }) => {
      for (const name of ['config.json', 'mcp-config.json', 'hooks'])
        replaceInHome(launch.home, `${HOME}/${name}`, null);
      const head = `---\nname: ${SERVER}\ndescription: ${SERVER}\n---\n`;
      replaceInHome(launch.home, `${HOME}/agents/${SERVER}.agent.md`, `${head}\n${instructions}\n`);
      replaceInHome(launch.home, SERVERS, serversOf(launch.mcpConfig));
      return () => {};
    },
    env: ({ model, launch }) => ({
      COPILOT_HOME: join(launch.home, HOME),
      COPILOT_AUTO_UPDATE: 'false',
      ...(address !== null && { COPILOT_OFFLINE: 'true' }),
      ...(model !== null && { COPILOT_MODEL: model }),
    }),
    needs: () => (endpoints.length > 0 ? { endpoints } : { hosts: HOSTS }),
    // It names its session only in its last event.
    newSession: async () => randomUUID(),
    args: (turn, session) => [
      ...['--output-format', 'json', '--stream', 'on', '--no-auto-update', '--no-color'],
      ...['--disable-builtin-mcps', '--additional-mcp-config', `@${join(turn.launch.home, SERVERS)}`],
      ...['--agent', SERVER, '--no-ask-user', '--no-custom-instructions'],
      ...(ownTools
        ? ['--allow-all-tools', '--allow-all-paths', `--excluded-tools=${EXCLUDED.join(',')}`]
        : [`--allow-tool=${SERVER}`, `--available-tools=${SERVER}`]),
      turn.session === null ? `--session-id=${session}` : `--resume=${session}`,
    ],
    dialogue: ({ prompt }: Turn) => ({ input: prompt, parse: createParser() }),
  });
}

function serversOf(mcpConfig: string): string {
  const server = readServer(mcpConfig);
  return JSON.stringify({ mcpServers: server ? { [SERVER]: { type: 'local', tools: ['*'], ...server } } : {} });
}
