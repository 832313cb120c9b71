import { join } from 'node:path';
import { OWN_KINDS } from '../../core/own-tool.ts';
import { replaceInHome } from '../agent-home.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, Turn } from '../provider.ts';
import { configOf, NAME } from './config.ts';
import { opencode as about } from './describe.ts';
import { lendLogin } from './login.ts';
import { createParser } from './parse.ts';

const INSTRUCTIONS = '.substrat/instructions.md';

const access: ModelAccess = {
  dialect: 'openai',
  variable: 'OPENAI_BASE_URL',
  url: 'https://api.openai.com/v1',
  keys: { OPENAI_API_KEY: bearer },
};

const ENVIRONMENT = Object.fromEntries(
  ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE', 'PROJECT_CONFIG'].map((name) => [
    `OPENCODE_DISABLE_${name}`,
    '1',
  ]),
);

/** Turns of opencode by `run`: its server would have to be started for each turn, too. */
export function opencode(given: CodingOptions): Provider {
  const { options, address, endpoints } = keepKeys(given, access);
  const { confined, ownTools } = options;
  return cliProvider(options, {
    about,
    unjudged: ownTools ? OWN_KINDS : [],
    filesInWorkspace: false,
    files: ({ launch, instructions }) => {
      replaceInHome(launch.home, INSTRUCTIONS, instructions);
      if (!confined) return () => {};
      replaceInHome(launch.home, '.config/opencode', null);
      if (address === null) lendLogin(launch.home, { ...options.env, ...options.extraEnv });
      return () => {};
    },
    env: (turn) => ({
      ...ENVIRONMENT,
      OPENCODE_CONFIG_CONTENT: configOf(turn, { ownTools, address, instructions: instructionsOf(turn) }),
    }),
    needs: () => (endpoints.length > 0 ? { endpoints } : {}),
    args: (turn, session) => [
      ...['run', '--format', 'json', '--pure', '--agent', NAME],
      ...(turn.model === null ? [] : ['--model', address === null ? turn.model : `${NAME}/${turn.model}`]),
      // Without a title it would ask the model for one.
      ...(session === null ? ['--title', turn.name] : ['--session', session]),
    ],
    dialogue: ({ prompt }) => ({ input: prompt, parse: createParser() }),
  });
}

function instructionsOf({ launch }: Turn): string {
  return join(launch.home, INSTRUCTIONS);
}
