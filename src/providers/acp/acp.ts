import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind } from '../../core/command.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import type { Variables } from '../environment.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider, Turn } from '../provider.ts';
import { describeAcp } from './describe.ts';
import { createDialogue } from './dialogue.ts';

/** Where programs take the address of their model from, if they do. */
const apis: Readonly<Record<'anthropic' | 'openai' | 'gemini', ModelAccess>> = {
  anthropic: {
    dialect: 'anthropic',
    variable: 'ANTHROPIC_BASE_URL',
    url: 'https://api.anthropic.com',
    keys: { ANTHROPIC_API_KEY: (key) => ({ 'x-api-key': key }), ANTHROPIC_AUTH_TOKEN: bearer },
  },
  openai: {
    dialect: 'openai',
    variable: 'OPENAI_BASE_URL',
    url: 'https://api.openai.com/v1',
    keys: { OPENAI_API_KEY: bearer },
  },
  gemini: {
    dialect: 'gemini',
    variable: 'GOOGLE_GEMINI_BASE_URL',
    url: 'https://generativelanguage.googleapis.com',
    keys: { GEMINI_API_KEY: (key) => ({ 'x-goog-api-key': key }) },
  },
};

export interface AcpOptions extends CodingOptions {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly loginFiles: readonly string[];
  readonly authMethod: string | null;
  readonly api: keyof typeof apis | null;
}

/** Turns of any program that speaks the Agent Client Protocol: a fresh process for each turn. */
export function acp(given: AcpOptions): Provider {
  const { name, ownTools, authMethod, hosts, loginFiles } = given;
  const { options, endpoints } =
    given.api === null ? { options: given, endpoints: [] } : keepKeys(given, apis[given.api]);
  const policy = { name, ownTools, authMethod, costs: new Map<string, number>() };
  return cliProvider(options, {
    about: describeAcp(name, options.command),
    unjudged: [],
    filesInWorkspace: false,
    files: () => () => {},
    env: () => (options.confined ? { NODE_USE_ENV_PROXY: '1' } : {}),
    needs: (turn) => ({
      hosts,
      binds: loginFiles.map((file) => lent(file, options.env, turn)).filter(({ source }) => existsSync(source)),
      ...(endpoints.length > 0 && { endpoints }),
    }),
    args: () => [],
    dialogue: (turn, session) => createDialogue(policy, turn, session),
  });
}

function lent(file: string, { HOME = '/' }: Variables, { launch }: Turn): Bind {
  return { source: join(HOME, file), target: join(launch.home, file), mode: 'ro' };
}
