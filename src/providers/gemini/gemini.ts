import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { OWN_KINDS } from '../../core/own-tool.ts';
import { replaceInHome } from '../agent-home.ts';
import { SERVER } from '../calls.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { readServer } from '../mcp-config.ts';
import { keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, Turn } from '../provider.ts';
import { gemini as about } from './describe.ts';
import { createParser } from './parse.ts';

const INSTRUCTIONS = '.substrat/instructions.md';
const SETTINGS = '.gemini/settings.json';
const HOSTS = ['generativelanguage.googleapis.com'];
/** Agents outside of Substrat, questions, and tools of the network. */
const EXCLUDED = ['invoke_agent', 'enter_plan_mode', 'ask_user', 'google_web_search', 'web_fetch', 'activate_skill'];

const access: ModelAccess = {
  dialect: 'gemini',
  variable: 'GOOGLE_GEMINI_BASE_URL',
  url: 'https://generativelanguage.googleapis.com',
  keys: { GEMINI_API_KEY: (key) => ({ 'x-goog-api-key': key }) },
};

/** Turns of Gemini CLI. */
export function gemini(given: CodingOptions): Provider {
  const { options, endpoints } = keepKeys(given, access);
  const { ownTools } = options;
  return cliProvider(options, {
    about,
    unjudged: ownTools ? OWN_KINDS : [],
    filesInWorkspace: false,
    files: (turn) => {
      replaceInHome(turn.launch.home, INSTRUCTIONS, turn.instructions);
      replaceInHome(turn.launch.home, SETTINGS, settingsOf(turn, ownTools));
      return () => {};
    },
    env: ({ launch }) => ({
      GEMINI_SYSTEM_MD: join(launch.home, INSTRUCTIONS),
      // Its settings and sessions are the agent's own, also without a sandbox.
      GEMINI_CLI_HOME: launch.home,
      GEMINI_CLI_NO_RELAUNCH: 'true',
    }),
    needs: () => (endpoints.length > 0 ? { endpoints } : { hosts: HOSTS }),
    args: (turn, session) => [
      ...['-o', 'stream-json', '--skip-trust', '--approval-mode', ownTools ? 'yolo' : 'default'],
      ...(turn.model === null ? [] : ['-m', turn.model]),
      ...(session === null ? ['--session-id', randomUUID()] : ['--resume', session]),
    ],
    dialogue: ({ prompt, session }) => ({ input: prompt, parse: createParser(session) }),
  });
}

function settingsOf({ launch }: Turn, ownTools: boolean): string {
  const server = readServer(launch.mcpConfig);
  return JSON.stringify({
    ...(server && { mcpServers: { [SERVER]: { ...server, trust: true, timeout: 600_000 } } }),
    mcp: { allowed: [SERVER] },
    // An empty list would remove the MCP tools, too.
    tools: { exclude: EXCLUDED, ...(!ownTools && { core: [`mcp_${SERVER}_*`] }) },
    security: { auth: { selectedType: 'gemini-api-key' } },
    telemetry: { enabled: false },
    privacy: { usageStatisticsEnabled: false },
    general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
  });
}
