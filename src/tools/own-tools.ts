import type { Agent } from '../core/agent.ts';
import { SubstratError, toSubstratError } from '../core/errors.ts';
import type { Guard, Permission } from '../core/guard.ts';
import { type OwnCall, type OwnKind, ownToolName, toolInWords } from '../core/own-tool.ts';
import { concernsOf, judge, type Policy, type Subject, strictest, type Verdict } from '../core/policy.ts';
import { canonicalJson } from '../core/text.ts';
import { approversOf, askApproval } from '../messaging/questions.ts';
import type { ActiveAttempt } from '../runs/attempt.ts';
import type { Tx } from '../store/store.ts';
import type { ToolDependencies } from './dependencies.ts';
import { lineOf } from './policy.ts';
import { callKey, tooMany } from './recorded.ts';

/** Longer arguments are not shown to a person, so they are not approved. */
const MOST_ASKED = 100_000;

/** What policies have to know of a provider. */
export interface Enforcer {
  readonly name: string;
  /** What its program does with tools of its own without asking. */
  readonly unjudged: readonly OwnKind[];
}

/** Judges the calls that the agent's program makes with tools of its own; null if every such call is allowed. */
export async function guardOf(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  agent: Agent,
  provider: Enforcer,
): Promise<Guard | null> {
  const { policies } = deps.settings;
  if (policies.length === 0) return null;
  const line = await deps.store.read((tx) => lineOf(tx, agent));
  const problem = enforcementProblem(policies, line, provider);
  if (problem !== null) throw new SubstratError('forbidden', problem);
  if (concernsOf(policies, line).length === 0) return null;
  const judged = (call: OwnCall) => verdictOn(policies, line, call);
  return {
    verdict: (call) => judged(call).action,
    permit: async (call) => {
      try {
        return await permit(deps, attempt, call, judged(call));
      } catch (error) {
        return refused(toSubstratError(error).message);
      }
    },
  };
}

/** Why the provider cannot run the agent: it would make calls that a policy asks about or denies. Null if it can. */
export function enforcementProblem(
  policies: readonly Policy[],
  line: readonly Subject[],
  { name, unjudged }: Enforcer,
): string | null {
  const [concern] = concernsOf(policies, line, unjudged);
  if (!concern) return null;
  const { kind, policy } = concern;
  return `The provider ${name} cannot enforce the policy "${policy.name}": its program does not ask before it uses ${ownToolName(kind)}. Set \`own_tools = false\` in [providers.${name}], or choose another provider (see docs/control.md).`;
}

function verdictOn(policies: readonly Policy[], line: readonly Subject[], call: OwnCall): Verdict {
  const tool = ownToolName(call.kind);
  return strictest((call.parts ?? [call.input]).map((input) => judge(policies, line, tool, input)));
}

async function permit(
  deps: ToolDependencies,
  attempt: ActiveAttempt,
  { kind, input }: OwnCall,
  { action, policy }: Verdict,
): Promise<Permission> {
  const tool = ownToolName(kind);
  const words = toolInWords(tool);
  if (action === 'allow') return { allowed: true };
  if (action === 'deny') return refused(`The policy "${policy?.name}" does not allow this call. Do something else.`);
  if (canonicalJson(input).length > MOST_ASKED) {
    return refused(
      `A person has to approve this call, and its arguments are too long to be read. Use ${words} in smaller steps.`,
    );
  }
  const digest = callKey(tool, input);
  const now = deps.clock();
  const wait = deps.limiter.take(attempt.agentId, now);
  if (wait !== null) return refused(tooMany(wait).message);
  return deps.store.write(
    async (tx): Promise<Permission> => {
      const [run, agent] = await callerOf(tx, attempt);
      const named = policy?.by ?? null;
      const by = await approversOf(tx, named);
      if (await tx.questions.tryUseGrant({ agentId: agent.id, digest, by, now })) return { allowed: true };
      const wanted = { tool, input, digest, by: named };
      const { questionId: id } = await askApproval(tx, deps.settings.rules, { agent, run }, wanted, now);
      return refused(
        `A person has to approve this call (question ${id}). It was not executed. End your turn now; the decision arrives as your next message. If it is approved, use ${words} again with exactly the same arguments.`,
      );
    },
    `own call of ${attempt.agentId}`,
    `tree ${attempt.treeId}`,
  );
}

async function callerOf(tx: Tx, attempt: ActiveAttempt) {
  return Promise.all([tx.runs.holdRun(attempt), tx.agents.getAgent({ id: attempt.agentId }) as Promise<Agent>]);
}

function refused(message: string): Permission {
  return { allowed: false, message };
}
