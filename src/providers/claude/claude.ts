import { join } from 'node:path';
import { replaceInHome } from '../agent-home.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, Turn } from '../provider.ts';
import { turnArguments } from './args.ts';
import { claude as about } from './describe.ts';
import { createDialogue } from './dialogue.ts';
import { lendLogin } from './login.ts';

const INSTRUCTIONS = '.substrat/instructions.md';
const HOSTS = ['api.anthropic.com'];

const access: ModelAccess = {
  dialect: 'anthropic',
  variable: 'ANTHROPIC_BASE_URL',
  url: 'https://api.anthropic.com',
  keys: {
    ANTHROPIC_API_KEY: (key) => ({ 'x-api-key': key }),
    ANTHROPIC_AUTH_TOKEN: bearer,
    CLAUDE_CODE_OAUTH_TOKEN: bearer,
  },
};

const ENVIRONMENT = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  DISABLE_AUTOUPDATER: '1',
  // Substrat retries, and knows better when.
  CLAUDE_CODE_MAX_RETRIES: '2',
  // Otherwise it would hide MCP tools until the model searches for them.
  ENABLE_TOOL_SEARCH: 'false',
};

/** Turns of Claude Code. */
export function claude(given: CodingOptions): Provider {
  const { options, endpoints } = keepKeys(given, access);
  const { confined, ownTools } = options;
  return cliProvider(options, {
    about,
    unjudged: [],
    filesInWorkspace: false,
    files: (turn) => {
      replaceInHome(turn.launch.home, INSTRUCTIONS, turn.instructions);
      if (confined && endpoints.length === 0) lendLogin(turn.launch.home, { ...options.env, ...options.extraEnv });
      return () => {};
    },
    env: () => ENVIRONMENT,
    // As root it does not skip permission questions.
    needs: () => ({
      tools: true,
      waits: true,
      refusesRoot: true,
      ...(endpoints.length > 0 ? { endpoints } : { hosts: HOSTS }),
    }),
    args: (turn, session) => turnArguments({ ownTools, confined, instructions: instructionsOf(turn) }, turn, session),
    dialogue: (turn) => createDialogue(turn, { toolsOverHttp: confined }),
  });
}

function instructionsOf({ launch }: Turn): string {
  return join(launch.home, INSTRUCTIONS);
}
