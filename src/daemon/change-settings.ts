import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Run } from '../core/run.ts';
import { narrow, type Scope, sameScope } from '../core/scope.ts';
import type { Setting, Settings } from '../core/settings.ts';
import { changeSettings } from '../messaging/settings.ts';
import { giveUpRun, interruptRun } from '../runs/interrupt.ts';
import type { AgentView, Tx } from '../store/store.ts';
import { messagesOfRuns as correspondence } from './correspondence.ts';

export interface SettingsWish {
  /** Computed from the agent as it is then. */
  readonly change: (tx: Tx, agent: Agent) => Promise<Partial<Settings>>;
  /** Change only one of these revisions; null: any. */
  readonly expected: readonly number[] | null;
  readonly by: string;
  /** A turn in progress starts again with the new settings. */
  readonly interrupt: boolean;
}

export interface SettingsChanged {
  readonly agent: AgentView;
  readonly changed: readonly Setting[];
  /** The turn in progress, and the settings that it keeps until it ends. */
  readonly running: { readonly runId: string; readonly keeps: readonly Setting[] } | null;
  /** The attempt that was ended. */
  readonly interrupted: string | null;
  /** Clients that joined it, or could join it, must learn of it. */
  readonly doorChanged: boolean;
}

/** Runs in one transaction: settings, history, and what a change of provider means for the agent's run. */
export async function changeInStore(
  tx: Tx,
  agentId: string,
  wish: SettingsWish,
  now: number,
): Promise<SettingsChanged> {
  const before = await tx.agents.getAgent({ id: agentId });
  if (!before) throw new SubstratError('not_found', `There is no agent ${agentId}.`);
  if (wish.expected && !wish.expected.includes(before.revision)) {
    const message = `The settings of ${before.handle} are at revision ${before.revision} now; read them again.`;
    throw new SubstratError('precondition_failed', message);
  }
  const changed = await changeSettings(tx, before, await wish.change(tx, before), wish.by, now);
  const after = (await tx.agents.getAgent({ id: agentId })) as Agent;
  const run = changed.length === 0 ? null : await tx.runs.getLiveRun({ agentId });
  const wasRunning = run?.state === 'running';
  const switches = before.provider !== after.provider && [before.provider, after.provider].includes(EXTERNAL);
  if (switches && wasRunning && after.provider === EXTERNAL && !wish.interrupt) {
    const message = `${before.handle} is in a turn. Change its provider when the turn has ended, or end the turn with --now.`;
    throw new SubstratError('conflict', message);
  }
  const ends = wasRunning && (wish.interrupt || switches);
  if (run && ends) await interruptRun(tx, correspondence, before, run, 'A person changed its settings.', now);
  if (switches) await handOver(tx, after, now);
  if (['provider', 'model', 'program'].some((name) => changed.some((one) => one === name))) {
    // What it waited for, such as the limit of a model, may not concern the new one.
    await tx.runs.endWaits({ agentId });
  }
  return {
    agent: (await tx.agents.getAgentView({ id: agentId })) as AgentView,
    changed,
    running: run && wasRunning && !ends ? { runId: run.id, keeps: keptOf(changed, before.tools, after.tools) } : null,
    interrupted: run && ends ? run.id : null,
    doorChanged: switches || (ends && after.provider === EXTERNAL),
  };
}

/** Runs of an external agent are opened by those who join it; all others are claimed. */
async function handOver(tx: Tx, agent: Agent, now: number): Promise<void> {
  const { id: agentId, provider } = agent;
  const run: Run | null = await tx.runs.getLiveRun({ agentId });
  if (run && provider === EXTERNAL) await giveUpRun(tx, run, 'The agent is an external agent now.', now);
  await tx.runs.wakeAgent({ agentId, now });
}

/** These are read when they are needed, not at the start of a turn. */
const READ_LATE: readonly Setting[] = ['name', 'maySpawn', 'fallback'];

/** Fewer tools apply from the next call; the rest waits for the next turn. */
function keptOf(changed: readonly Setting[], before: Scope, after: Scope): Setting[] {
  const narrower = sameScope(narrow(before, after), after);
  return changed.filter((name) => !READ_LATE.includes(name) && !(name === 'tools' && narrower));
}
