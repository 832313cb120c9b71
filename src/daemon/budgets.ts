import type { Agent } from '../core/agent.ts';
import type { BudgetWish } from '../core/budget.ts';
import { SubstratError } from '../core/errors.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Provider } from '../providers/provider.ts';
import type { Tx } from '../store/store.ts';
import type { ProviderLimits } from './providers.ts';

interface Known {
  readonly config: { readonly providers: ProviderLimits };
  readonly about: (provider: string) => Provider['about'] | undefined;
  readonly isPriced: (agent: Agent) => boolean;
}

/** Throws if nobody could keep the limit, with the reason. Of a subtree or a person, those turns are counted that can be. */
export async function checkBudget(tx: Tx, known: Known, wish: BudgetWish): Promise<void> {
  const refuse = (reason: string): never => {
    throw new SubstratError('unsupported', reason);
  };
  if (!(wish.amount >= 0) || !Number.isFinite(wish.amount)) refuse('A limit is a number from 0.');
  if (wish.scope !== 'agent') return;
  const agent = await tx.agents.getAgent({ id: wish.subjectId as string });
  if (!agent) return;
  const { handle, provider } = agent;
  if (provider === EXTERNAL)
    refuse(`${handle} is external: its turns run outside of Substrat, so no budget holds for it.`);
  if (wish.unit !== 'tokens' && wish.unit !== 'usd') return;
  const settings = known.config.providers[provider];
  const isProxied = Object.keys(settings?.env ?? {}).some((name) => /_API_KEY$|_BASE_URL$/.test(name));
  if (known.about(provider)?.countsNothing && !isProxied) {
    refuse(
      `${provider} does not report what it uses, so a limit in ${wish.unit} cannot hold for ${handle}. Limit its runs or minutes instead.`,
    );
  }
  if (wish.unit === 'usd' && !known.isPriced(agent)) {
    refuse(
      `The price of ${provider} is not known. Set \`[providers.${provider}] prices\` (0 if it costs nothing) or \`assume_price\`, or limit tokens instead.`,
    );
  }
}
