import { replaceInHome } from '../agent-home.ts';
import { type CliProgram, type CodingOptions, cliProvider } from '../cli.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, ProviderEvent, Turn } from '../provider.ts';
import { configArguments } from './config.ts';
import { codex as about } from './describe.ts';
import { createDialogue } from './dialogue.ts';
import { createExecParser, execArguments } from './exec.ts';
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

/**
 * Turns of Codex by its app server: a fresh process for each turn, in which one thread is started or resumed. A program
 * without one runs `exec` instead, with the same threads, until the daemon is restarted.
 */
export function codex(given: CodingOptions): Provider {
  const kept = keepKeys(given, access);
  const server = cliProvider(kept.options, { ...programOf(kept), ...appServer(kept) });
  const exec = cliProvider(kept.options, { ...programOf(kept), ...execMode(kept) });
  let hasServer = true;

  async function* runTurn(turn: Turn): AsyncGenerator<ProviderEvent> {
    if (hasServer) {
      let isBegun = false;
      for await (const event of server.runTurn(turn)) {
        if (!isBegun && event.type === 'error' && NO_SERVER.test(event.message)) {
          hasServer = false;
          break;
        }
        isBegun = true;
        yield event;
      }
    }
    if (hasServer) return;
    if (turn.guard) return yield { type: 'error', kind: 'invalid_request', message: UNGUARDED };
    yield* exec.runTurn(turn);
  }

  return { ...server, runTurn };
}

const NO_SERVER = /unrecognized subcommand|unknown (?:sub)?command.*app-server/i;
const UNGUARDED =
  "This codex has no app server, so it cannot ask before it uses its own tools, as the agent's policies need. Update it (npm install -g @openai/codex).";

type Kept = ReturnType<typeof keepKeys<CodingOptions>>;

/** What both modes have in common. */
function programOf({ options, address, endpoints }: Kept): Omit<CliProgram, 'args' | 'dialogue'> {
  const { confined } = options;
  return {
    about,
    unjudged: [],
    filesInWorkspace: false,
    files: ({ launch }) => {
      if (!confined) return () => {};
      for (const name of STEERING) replaceInHome(launch.home, `.codex/${name}`, null);
      if (address === null) lendLogin(launch.home, { ...options.env, ...options.extraEnv });
      return () => {};
    },
    env: () => ({}),
    needs: () => ({ tools: true, waits: true, ...(endpoints.length > 0 ? { endpoints } : { hosts: HOSTS }) }),
  };
}

function appServer(kept: Kept): Pick<CliProgram, 'args' | 'dialogue'> {
  return { args: (turn) => ['app-server', ...settingsOf(kept, turn)], dialogue: createDialogue };
}

function execMode(kept: Kept): Pick<CliProgram, 'args' | 'dialogue'> {
  const totals = new Map();
  return {
    args: (turn, session) => execArguments(settingsOf(kept, turn), session),
    dialogue: ({ prompt, instructions }, session) => ({
      // It has no other place for instructions that may be long.
      input: `Your instructions, as of this turn:\n\n${instructions}\n\n${prompt}`,
      parse: createExecParser(session, totals),
    }),
  };
}

function settingsOf({ options: { ownTools, confined }, address }: Kept, { model, guard, launch }: Turn): string[] {
  const { mcpConfig } = launch;
  return configArguments({ model, mcpConfig }, { ownTools, confined, address, guarded: guard !== null });
}
