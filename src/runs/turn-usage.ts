import { estimateTokens } from '../core/tokens.ts';
import type { Prices, Tokens } from '../core/usage.ts';
import type { Provider, ProviderEvent } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import type { ActiveAttempt } from './attempt.ts';
import type { Started } from './start.ts';
import type { Tx } from './tx.ts';
import { type Patience, untilStored } from './until-stored.ts';

export type Used = Omit<Extract<ProviderEvent, { type: 'usage' }>, 'type' | 'metered'>;

/** What was seen of a turn, to count what nobody reports. */
export interface Seen {
  isSpawned: boolean;
  /** Of the texts and calls. */
  characters: number;
  isCounted: boolean;
}

export function note(seen: Seen, event: ProviderEvent): void {
  if (event.type === 'text') seen.characters += event.text.length;
  if (event.type === 'tool_call') seen.characters += JSON.stringify(event.arguments)?.length ?? 0;
  if (event.type === 'usage') seen.isCounted = true;
}

/**
 * If neither the daemon nor the program counted what a program used, it is assumed: at least the prompt was read, and
 * what was seen was written.
 */
export function countRest(
  {
    provider,
    prices,
  }: {
    readonly provider: (name: string, account: string) => Provider | null;
    readonly prices: (provider: string, model: string | null) => Prices | null;
  },
  { attempt, agent, prompt }: Pick<Started, 'attempt' | 'agent' | 'prompt'>,
  seen: Seen,
): void {
  if (!seen.isCounted) {
    const metered = attempt.usage.of('metered');
    if (metered) attempt.spans?.used(metered.inputTokens, metered.outputTokens);
  }
  const about = provider(agent.provider, agent.account)?.about;
  const usesModel = about?.program !== undefined && !about.runsOwnProgram;
  if (!usesModel || !seen.isSpawned || !attempt.usage.isEmpty) return;
  const used = { inputTokens: estimateTokens(prompt), outputTokens: Math.ceil(seen.characters / 4) };
  attempt.usage.add(
    'assumed',
    withCost(used, () => prices(agent.provider, agent.model)),
  );
}

/** Stores what the attempt used, although it may have lost its run. `settle` charges it to budgets. */
export async function settleUsage(
  { store, log }: { readonly store: Store; readonly log: { warn(details: object, message: string): void } },
  attempt: ActiveAttempt,
  patience: Patience,
  settle: ((tx: Tx) => Promise<void>) | null,
): Promise<void> {
  if (attempt.usage.isStored && !settle) return;
  const write = () =>
    store.write(async (tx) => {
      const stored = await attempt.usage.store(tx, attempt);
      await settle?.(tx);
      return stored;
    }, `tree ${attempt.treeId}`);
  try {
    await untilStored(async () => (await write())(), patience);
  } catch (error) {
    log.warn({ runId: attempt.runId, error: (error as Error).message }, 'what an attempt used is lost');
  }
}

/** Computes the cost from prices per million tokens if the provider does not report it. */
export function withCost(used: Used, pricesOf: (model: string | undefined) => Prices | null): Tokens {
  const { inputTokens, outputTokens, costUsd, model } = used;
  const prices = costUsd === undefined ? pricesOf(model) : null;
  const priced = prices ? (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000 : 0;
  return { inputTokens, outputTokens, costUsd: costUsd ?? priced };
}
