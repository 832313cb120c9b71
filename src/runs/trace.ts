import type { Message } from '../core/message.ts';
import type { Run } from '../core/run.ts';
import type { TracedRun } from '../store/store.ts';
import type { Tx } from './tx.ts';

/** Runs of one trace that are listed, and how far its beginning is looked for. */
const MOST_RUNS = 200;

export interface Trace {
  /** The message that began it; null if it is gone. */
  readonly message: Message | null;
  /** Parents before their children. */
  readonly runs: readonly TracedRun[];
  readonly complete: boolean;
}

/**
 * Everything that one message led to, through all agents: from a run back to the message that no run sent, then to all
 * runs that it and the messages of its runs started.
 */
export async function followTrace(tx: Tx, run: Run): Promise<Trace> {
  const { first, message, found } = await findBeginning(tx, run);
  const runs = [...(message ? await tx.traces.listStarted({ messageId: message.id, limit: MOST_RUNS }) : [])];
  if (!runs.some(({ id }) => id === first.id)) {
    const agent = await tx.agents.getAgent({ id: first.agentId });
    runs.unshift({ ...first, handle: agent?.handle ?? '', parentRunId: null });
  }
  const known = new Set(runs.map(({ id }) => id));
  for (let last = runs.map(({ id }) => id); last.length > 0 && runs.length < MOST_RUNS; ) {
    const caused = await tx.traces.listCaused({ runIds: last, limit: MOST_RUNS - runs.length });
    const added = caused.filter(({ id }) => !known.has(id));
    for (const { id } of added) known.add(id);
    runs.push(...added);
    last = added.map(({ id }) => id);
  }
  return { message, runs, complete: found && runs.length < MOST_RUNS };
}

async function findBeginning(tx: Tx, run: Run): Promise<{ first: Run; message: Message | null; found: boolean }> {
  let first = run;
  for (let hops = 0; hops < MOST_RUNS; hops += 1) {
    const message = first.triggerId === null ? null : await tx.messages.getMessage({ id: first.triggerId });
    const sender = message?.runId ? await tx.runs.getRun({ id: message.runId }) : null;
    if (!sender) return { first, message, found: true };
    first = sender;
  }
  return { first, message: null, found: false };
}
