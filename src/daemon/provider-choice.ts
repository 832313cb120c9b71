import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Environment } from '../core/environment.ts';
import { SubstratError } from '../core/errors.ts';
import { described, type ProviderName } from '../providers/described.ts';
import { llmDefaults } from '../providers/llm/describe.ts';
import { chooseModel } from '../providers/llm/endpoints.ts';
import { foundProviders } from './providers.ts';

/** The order in which a provider is chosen for an agent that names none. */
const ORDER: readonly ProviderName[] = [
  'claude',
  'codex',
  'cursor-agent',
  'opencode',
  'gemini',
  'copilot',
  'qwen',
  'pi',
  'llm',
];

/** `key`: in the configuration; `login`: the program's own; `not_needed`: it asks for none. Nothing is called. */
export type LoginState = 'key' | 'login' | 'none' | 'not_needed';

/** Whether a provider is logged in, as far as the configuration and files show it. */
export function loginOf(
  config: Config,
  env: Environment,
  name: string,
  { model = null, account = '' }: { readonly model?: string | null; readonly account?: string } = {},
): LoginState {
  const about = described.find((one) => one.name === name);
  if (about?.name === 'llm') return modelLogin(config, env, model);
  if (!about || !('login' in about)) return 'not_needed';
  const { login } = about;
  const settings = config.providers[about.name];
  const given = { ...settings?.env, ...settings?.accounts[account]?.env };
  if (login.variables.some((variable) => given[variable])) return 'key';
  if (!('file' in login)) return 'none';
  const { variable, directory, name: file } = login.file;
  const place = { ...env, ...given };
  return existsSync(join(place[variable] ?? join(place.HOME ?? '/', directory), file)) ? 'login' : 'none';
}

/** The first provider that is found with a login; null if there is none. */
export function chooseProvider(config: Config, env: NodeJS.ProcessEnv, model: string | null): string | null {
  const found = foundProviders(config, env);
  return ORDER.find((name) => found.includes(name) && loginOf(config, env, name, { model }) !== 'none') ?? null;
}

/** A model on this machine needs no key. */
function modelLogin(config: Config, env: Environment, asked: string | null): LoginState {
  try {
    const { apiKey } = chooseModel({ ...llmDefaults, ...config.providers.llm, env }, asked);
    return apiKey === null ? 'not_needed' : 'key';
  } catch (error) {
    if (error instanceof SubstratError) return 'none';
    throw error;
  }
}
