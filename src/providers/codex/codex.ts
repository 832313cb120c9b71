import { replaceInHome } from '../agent-home.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider } from '../provider.ts';
import { configArguments } from './config.ts';
import { codex as about } from './describe.ts';
import { createDialogue } from './dialogue.ts';
import { lendLogin } from './login.ts';

/** Without `auth.openai.com`: only the person's own program renews a login. */
const HOSTS = ['chatgpt.com', 'api.openai.com'];
/** Files in a home that decide what the program does; an agent could have written them in an earlier turn. */
const STEERING = ['config.toml', 'hooks.json', 'AGENTS.md', 'AGENTS.override.md', 'rules', 'prompts', 'skills'];

const access: ModelAccess = {
  dialect: 'openai',
  variable: 'OPENAI_BASE_URL',
  url: 'https://api.openai.com/v1',
  keys: { OPENAI_API_KEY: bearer },
};

/** Turns of Codex by its app server: a fresh process for each turn, in which one thread is started or resumed. */
export function codex(given: CodingOptions): Provider {
  const { options, address, endpoints } = keepKeys(given, access);
  const { confined, ownTools } = options;
  return cliProvider(options, {
    about,
    filesInWorkspace: false,
    files: ({ launch }) => {
      if (!confined) return () => {};
      for (const name of STEERING) replaceInHome(launch.home, `.codex/${name}`, null);
      if (address === null) lendLogin(launch.home, options.env);
      return () => {};
    },
    env: () => ({}),
    needs: () => (endpoints.length > 0 ? { endpoints } : { hosts: HOSTS }),
    args: (turn) => ['app-server', ...configArguments(turn, { ownTools, address })],
    dialogue: createDialogue,
  });
}
