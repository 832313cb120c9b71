import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { dayIn } from '../core/local-times.ts';
import { daysAround, ofToday, SCHEDULED } from '../core/people.ts';
import type { Run } from '../core/run.ts';
import { childNamed } from './children.ts';
import type { MessagingRules } from './rules.ts';
import type { Tx } from './tx.ts';

const MOST_POKES = 3;
/** A run that ended so long ago may have lost its record, which keeps it from repeating what it did. */
const DAY_MS = 24 * 3600_000;

/**
 * Tries the child's last turn again, if it has failed: the same run with its next attempt, which carries the same messages and gets the
 * recorded results of repeated calls. The request that it served stays closed; the reply is late. Returns the run.
 */
export async function pokeChild(
  tx: Tx,
  rules: MessagingRules,
  parent: Agent,
  name: string,
  now: number,
): Promise<string> {
  const child = await childNamed(tx, parent, name);
  const run = await failedRun(tx, child, now);
  await countPoke(tx, rules, run, now);
  if ((await tx.deliveries.reviveCarried({ runId: run.id })) === 0) {
    throw conflict(`The messages that ${child.name}'s last turn carried are gone. Send a new one.`);
  }
  await tx.runs.reopenRun({ id: run.id, fence: run.fence });
  const data = { agentId: child.id, runId: run.id, by: parent.id, pokes: run.pokes + 1 };
  await tx.events.appendEvent({ type: 'run_poked', at: now, agentId: child.id, data });
  return run.id;
}

async function failedRun(tx: Tx, child: Agent, now: number): Promise<Run> {
  const { name } = child;
  const run = await tx.runs.getNewestRun({ agentId: child.id });
  if (run?.state === 'created' || run?.state === 'running') throw conflict(`A turn of ${name} is under way or waits.`);
  if (child.pausedAt !== null) throw conflict(`${name} is paused by a person.`);
  if (run?.state === 'cancelled') throw conflict(`The last turn of ${name} was cancelled and is not tried again.`);
  if (run?.state !== 'failed') throw conflict(`The last turn of ${name} has not failed.`);
  if (run.stopReason !== 'error' && run.stopReason !== 'timeout') {
    throw conflict(`The last turn of ${name} was stopped (${run.stopReason}) and is not tried again.`);
  }
  if (run.pokes >= MOST_POKES) {
    throw new SubstratError('cap_reached', `The last turn of ${name} was poked ${MOST_POKES} times. Send a message.`);
  }
  const isOld = now - (run.endedAt ?? 0) > DAY_MS;
  if (isOld && !(await tx.records.getLastRecord({ runId: run.id }))) {
    throw conflict(`The record of ${name}'s last turn is gone. Send a message.`);
  }
  return run;
}

/** It counts as a run: of its tree, or of the person whose message started the chain. */
async function countPoke(
  tx: Tx,
  { people, maxTreeRuns }: MessagingRules,
  { treeId, payerId }: Run,
  now: number,
): Promise<void> {
  if (payerId !== null) {
    const payer = await tx.participants.getParticipantById({ id: payerId });
    if (payer?.kind === 'system') return countScheduled(tx, treeId, payerId);
    const handle = payer?.handle ?? '';
    const today = ofToday(await tx.trees.listPersonRuns(daysAround(now)), people, now);
    const used = today.find(({ personId }) => personId === payerId)?.runs ?? 0;
    if (used >= people.runsPerDay(handle)) throw new SubstratError('cap_reached', `${handle} has no runs left today.`);
    await tx.trees.countTreeRun({ treeId });
    await tx.trees.chargePerson({ treeId, personId: payerId, day: dayIn(people.timeZone(handle), now) });
    return;
  }
  const used = (await tx.trees.getTree({ id: treeId }))?.runsSincePerson ?? 0;
  if (used >= maxTreeRuns) {
    throw new SubstratError(
      'cap_reached',
      'The tree has used its runs (limits.max_tree_runs) and waits for its owner.',
    );
  }
  await tx.trees.countTreeRun({ treeId });
}

async function countScheduled(tx: Tx, treeId: string, id: string): Promise<void> {
  const schedule = await tx.schedules.getSchedule({ id });
  const own = (await tx.trees.listPersonRuns({ from: SCHEDULED, to: SCHEDULED })).find((one) => one.personId === id);
  if (own && own.runs >= (schedule?.runs ?? 0)) {
    throw new SubstratError('cap_reached', `The schedule "${schedule?.name}" has no runs left until it fires again.`);
  }
  await tx.trees.countTreeRun({ treeId });
  await tx.trees.chargePerson({ treeId, personId: id, day: SCHEDULED });
}

function conflict(message: string): SubstratError {
  return new SubstratError('conflict', message);
}
