import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Policy } from '../core/policy.ts';
import { readChoice } from '../core/provider-choice.ts';
import type { Provider } from '../providers/provider.ts';
import type { SeatRules } from '../runs/seats.ts';
import type { Tx } from '../store/store.ts';
import { enforcementProblem } from '../tools/own-tools.ts';
import { lineOf } from '../tools/policy.ts';

/** What decides whether a provider may run an agent. */
export interface Enforcement {
  readonly policies: readonly Policy[];
  readonly provider: (name: string) => Provider | undefined;
}

/** Throws if the agent's provider or one of its `fallback` cannot enforce its policies for the program's own tools. */
export async function checkEnforced(
  enforcement: Enforcement,
  tx: Pick<Tx, 'agents'>,
  agent: Pick<Agent, 'handle' | 'persona' | 'parentId' | 'provider' | 'fallback'>,
): Promise<void> {
  if (enforcement.policies.length === 0) return;
  const line = await lineOf(tx, agent);
  const providers = [agent.provider, ...(agent.fallback ?? []).map((choice) => readChoice(choice).provider)];
  for (const name of providers) {
    const problem = enforcementProblem(enforcement.policies, line, enforcerOf(enforcement, name));
    if (problem !== null) throw new SubstratError('bad_request', problem);
  }
}

/** For a fallback: whether a provider cannot take over for the agent, because of its policies. */
export function refusalsOf(enforcement: Enforcement): SeatRules['refusals'] {
  return async (tx, agent) => {
    if (enforcement.policies.length === 0) return () => false;
    const line = await lineOf(tx, agent);
    return ({ provider }) => enforcementProblem(enforcement.policies, line, enforcerOf(enforcement, provider)) !== null;
  };
}

function enforcerOf({ provider }: Enforcement, name: string) {
  return { name, unjudged: provider(name)?.unjudged ?? [] };
}
