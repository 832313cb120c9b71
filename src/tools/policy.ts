import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { judge, type Policy, type Subject } from '../core/policy.ts';
import type { Arguments } from '../core/question.ts';
import type { Run } from '../core/run.ts';
import { approversOf, askApproval } from '../messaging/questions.ts';
import type { Tx } from '../store/store.ts';
import { approvalKey } from './recorded.ts';
import { readReferences } from './references.ts';
import type { Tool, ToolSettings } from './tool.ts';

/** A call as policies see it: with its validated arguments. */
export interface JudgedCall {
  readonly agent: Agent;
  readonly tool: Pick<Tool, 'name' | 'refers'> & { readonly version?: string };
  readonly input: Arguments;
}

/** Instead of the call's result: a person has to approve it first. Not an exception, because the question has to be stored. */
export interface Held {
  readonly error: { readonly code: 'approval_required'; readonly message: string; readonly question_id: string };
}

/**
 * Refuses a call that a policy denies. For one that needs an approval, uses up its grant, or asks a person and returns what the
 * agent is told. Called in the transaction that records the call.
 */
export async function checkPolicy(
  tx: Tx,
  settings: ToolSettings,
  call: JudgedCall & { readonly run: Run },
  now: number,
): Promise<Held | null> {
  const { agent, run, input } = call;
  const { name: tool } = call.tool;
  const judgement = await judgementOf(tx, settings, call);
  if (!judgement) return null;
  const { digest, policy } = judgement;
  const named = policy?.by ?? null;
  if (await tx.questions.tryUseGrant({ agentId: agent.id, digest, by: await approversOf(tx, named), now })) return null;
  const wanted = { tool, input, digest, by: named };
  const { questionId: id } = await askApproval(tx, settings.rules, { agent, run }, wanted, now);
  const message = `A person has to approve this call (question ${id}). It was not executed. End your turn now; the decision arrives as your next message. If it is approved, call ${tool} again with the arguments that it names.`;
  return { error: { code: 'approval_required', message, question_id: id } };
}

/** Whether the call would be executed now: before work outside the store. */
export async function mayProceed(tx: Tx, settings: ToolSettings, call: JudgedCall, now: number): Promise<boolean> {
  const judgement = await judgementOf(tx, settings, call);
  if (!judgement) return true;
  const by = await approversOf(tx, judgement.policy?.by ?? null);
  return tx.questions.hasGrant({ agentId: call.agent.id, digest: judgement.digest, by, now });
}

/** The policy that asks for an approval, and what the approval is for; null: the call is allowed. Throws for one that is denied. */
async function judgementOf(
  tx: Tx,
  { policies, defaultProvider }: ToolSettings,
  { agent, tool, input }: JudgedCall,
): Promise<{ readonly digest: string; readonly policy: Policy | null } | null> {
  if (policies.length === 0) return null;
  const { meanings, canonical, problem } = await readReferences({ tx, agent, defaultProvider }, input, tool.refers);
  const { action, policy } = judge(policies, await lineOf(tx, agent), tool.name, input, meanings);
  if (action === 'allow') return null;
  // The call would fail after its approval as well, and this tells the agent more.
  if (problem) throw problem;
  if (action === 'deny') throw denied(tool.name, policy?.name ?? '');
  return { digest: approvalKey(tool, canonical), policy };
}

/** The agent and its ancestors. */
export async function lineOf(
  tx: Pick<Tx, 'agents'>,
  agent: Pick<Agent, 'handle' | 'persona' | 'parentId'>,
): Promise<Subject[]> {
  const line: Subject[] = [agent];
  for (let id = agent.parentId; id !== null; ) {
    const parent: Agent | null = await tx.agents.getAgent({ id });
    if (parent) line.push(parent);
    id = parent?.parentId ?? null;
  }
  return line;
}

function denied(tool: string, policy: string): SubstratError {
  return new SubstratError(
    'forbidden',
    `The policy "${policy}" does not allow this call of ${tool}. Do something else.`,
  );
}
