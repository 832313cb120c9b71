import type { Config } from '../config/config.ts';
import type { Seat } from '../core/seat.ts';
import type { SeatRules } from '../runs/seats.ts';
import { loginOf } from './provider-choice.ts';
import { foundProviders, type ProviderLimits } from './providers.ts';

/** Where a provider sends the conversation, unless its `env` names another address. */
const COMPANIES: Readonly<Record<string, string>> = {
  claude: 'Anthropic',
  codex: 'OpenAI',
  'cursor-agent': 'Cursor',
  gemini: 'Google',
  copilot: 'GitHub',
};

/** The names of a provider's accounts, as far as the configuration has any. */
function accountsOf({ providers }: { readonly providers: ProviderLimits }, provider: string): string[] {
  return Object.keys(providers[provider]?.accounts ?? {});
}

export function seatRules(
  config: { readonly providers: ProviderLimits },
  { isReady, refusals }: Pick<SeatRules, 'isReady' | 'refusals'>,
): SeatRules {
  return {
    accounts: (provider) => accountsOf(config, provider),
    isReady,
    refusals,
    describe: ({ provider, model, account }) => {
      const { env = {}, accounts = {} } = config.providers[provider] ?? {};
      const all = Object.entries({ ...env, ...accounts[account]?.env });
      const address = all.find(([name]) => name.endsWith('_BASE_URL'))?.[1];
      const company = provider === 'llm' ? model?.split('/')[0] : (hostOf(address) ?? COMPANIES[provider]);
      const details = [company, account === '' ? null : `account ${account}`].filter(Boolean);
      return details.length === 0 ? provider : `${provider} (${details.join(', ')})`;
    },
  };
}

/** Whether a provider can take over on this machine: its program is installed, and it has a login. */
export function readySeats(config: Config, env: NodeJS.ProcessEnv): (seat: Seat) => boolean {
  return ({ provider, model, account }) =>
    foundProviders(config, env).includes(provider) && loginOf(config, env, provider, { model, account }) !== 'none';
}

function hostOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : (URL.parse(address)?.host ?? undefined);
}
