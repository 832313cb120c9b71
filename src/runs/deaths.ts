import type { Agent } from '../core/agent.ts';
import type { Run } from '../core/run.ts';
import { shorten } from '../core/text.ts';
import type { Store } from '../store/store.ts';
import { type Correspondence, setRunAside } from './endings.ts';
import { pauseAgent } from './pause.ts';
import type { Tx } from './tx.ts';

/**
 * A run that crashes the daemon would do so at every start. So each run counts consecutive daemon deaths during it. A
 * run one death below `max_deaths` is a suspect, and suspects run one at a time; a suspect that was alone at its last
 * death is set aside. An orderly stop, a reboot of the machine, and an attempt that got further than all before it
 * clear a run.
 */

export interface DeathRules {
  /** 0: no run is ever set aside. */
  readonly maxDeaths: number;
  /** The boot id of this machine; null for another machine whose boot id is unknown. */
  readonly boot: string | null;
}

/**
 * Progress clears a run only this often, otherwise one that gets slightly further each time could crash the daemon
 * forever.
 */
const CLEARINGS = 5;

/** The number of deaths that makes a run a suspect; null if none ever is. */
export function suspectFrom(maxDeaths: number): number | null {
  return maxDeaths === 0 ? null : Math.max(1, maxDeaths - 1);
}

/** Counts a death of the daemon for the runs that were in progress. Returns the run to set aside, if any. */
export async function countDeath(tx: Tx, runs: readonly Run[], rules: DeathRules): Promise<Run | null> {
  const { maxDeaths, boot } = rules;
  if (maxDeaths === 0) return null;
  const suspects: Run[] = [];
  for (const run of runs) {
    if (boot !== null && run.boot !== boot) {
      await tx.runs.setDeaths({ id: run.id, deaths: 0, deathsEver: 0, records: 0 });
      continue;
    }
    const made = await tx.records.countRecords({ runId: run.id, attempt: run.attempt });
    const cleared = made > run.recordsAtDeath && run.deathsEver < CLEARINGS * maxDeaths;
    const before = cleared ? 0 : run.deaths;
    const counted = { deaths: before + 1, deathsEver: run.deathsEver + 1 };
    await tx.runs.setDeaths({ id: run.id, ...counted, records: Math.max(made, run.recordsAtDeath) });
    if (before >= maxDeaths - 1) suspects.push(run);
  }
  return suspects.length === 1 ? (suspects[0] as Run) : null;
}

/** Fails a run that has crashed the daemon too often, pauses its agent and notifies the person. */
export async function setAside(tx: Tx, correspondence: Correspondence, run: Run, now: number): Promise<void> {
  const agent = (await tx.agents.getAgent({ id: run.agentId })) as Agent;
  const { deaths } = (await tx.runs.getRun({ id: run.id })) as Run;
  const times = deaths === 1 ? 'once' : `${deaths} times in a row`;
  const reason = `The daemon died ${times} while the run ${run.id} was in progress.`;
  await pauseAgent(tx, correspondence, agent, reason, now);
  await setRunAside(tx, correspondence, run, `Set aside: ${reason}`, now);
  const text = [
    `${agent.handle} is paused. ${reason} The last time no other suspect was running, so the run was marked as failed.`,
    await evidence(tx, run),
    `The daemon's log shows how it died. Run \`substrat run show ${run.id}\` to see the run and \`substrat agent resume ${agent.handle}\` to resume the agent.`,
  ];
  await correspondence.tellPerson(tx, agent, text.join('\n'), now);
}

/** After an orderly stop no run is a suspect. */
export async function clearSuspects(store: Store, nodeId: string): Promise<void> {
  await store.write((tx) => tx.runs.clearDeaths({ nodeId }));
}

async function evidence(tx: Tx, run: Run): Promise<string> {
  const trigger = run.triggerId === null ? null : await tx.messages.getMessage({ id: run.triggerId });
  const last = await tx.records.getLastRecord({ runId: run.id });
  const started = trigger ? `It was started by the message ${trigger.id}: "${shorten(trigger.text, 200)}".` : '';
  const did = last
    ? ` The last entry of its record is ${last.tool ? `a call of ${last.tool}` : `a ${last.type}`}.`
    : '';
  return `${started} It had ${run.attempt} attempts.${did}`.trim();
}
