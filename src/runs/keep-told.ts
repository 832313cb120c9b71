import { type ActiveAttempt, type Entry, type Progress, record } from './attempt.ts';
import type { Told } from './told.ts';
import type { Tx } from './tx.ts';

/** What the last execution found, in case it took effect although its writer got an error. */
interface Tried {
  readonly events: readonly Told[];
  readonly at: number;
  /** The number of the run's last record. */
  readonly last: number;
}

/**
 * Stores provider events, each list exactly once. A list given again may have been stored (`outcome_unknown`); the
 * record shows it, because its numbers continue where the first try found them. Usage is not stored here: its sums are
 * written with every list (`UsageCount`).
 */
export function createKeeper(attempt: ActiveAttempt) {
  let tried: Tried | null = null;
  return async (tx: Tx, events: readonly Told[], now: number): Promise<Progress | null> => {
    const entries = events.flatMap(entriesOf);
    const before = tried?.events === events ? tried : null;
    const stored = before && entries.length > 0 && (await findStored(tx, attempt, before, entries));
    if (stored) return stored;
    const at = before?.at ?? now;
    // Not certain before the commit: the next execution compares it with the store.
    tried = { events, at, last: (await tx.records.getLastRecord({ runId: attempt.runId }))?.n ?? 0 };
    for (const event of events) await keepBeside(tx, attempt, event);
    return entries.length > 0 ? record(tx, attempt, entries, at) : null;
  };
}

/** The progress after the entries, if they follow the last record that the previous try found. */
async function findStored(
  tx: Tx,
  { runId, number, progress }: ActiveAttempt,
  { last, at }: Tried,
  entries: readonly Entry[],
): Promise<Progress | null> {
  const rows = await tx.records.listRecordsAfter({ runId, after: last, limit: entries.length });
  const same = entries.every((entry, i) => {
    const row = rows[i];
    return (
      row?.type === entry.type &&
      row.attempt === number &&
      row.createdAt === at &&
      row.callId === (entry.callId ?? null) &&
      JSON.stringify(row.content) === JSON.stringify(entry.content)
    );
  });
  const end = rows.at(-1);
  if (!same || !end) return null;
  const called = progress.called || rows.some(({ type }) => type === 'tool_call_message');
  return { step: end.step, lastType: end.type, called };
}

/** What is stored on the agent instead of in the record. */
async function keepBeside(tx: Tx, attempt: ActiveAttempt, event: Told): Promise<void> {
  if (event.type === 'session') await tx.sessions.nameSession({ ...attempt.session, handle: event.session });
}

function entriesOf(event: Told): Entry[] {
  switch (event.type) {
    case 'text':
      return [{ type: 'assistant_message', content: event.text }];
    case 'tool_call': {
      const { name, id, arguments: given } = event;
      return [{ type: 'tool_call_message', tool: name, callId: id, content: given ?? null }];
    }
    case 'tool_result': {
      const { id, result, isError } = event;
      return [{ type: 'tool_return_message', callId: id, content: result ?? null, isError }];
    }
    default:
      return [];
  }
}
