import type { RunId } from '../core/ids.ts';
import type { RunProgress } from '../core/run.ts';
import type { Queries } from './query.ts';

/** What is known about the progress of a running attempt. */
export interface ProgressQueries {
  setProgress(p: RunProgress): Promise<void>;
  /** Until then, the person is not told that it makes no progress. */
  setPatience(p: { id: RunId; until: number }): Promise<void>;
}

export function progressQueries({ db, change }: Queries): ProgressQueries {
  return {
    setProgress: change('run', (p: RunProgress) =>
      db
        .updateTable('runs')
        .set({
          progress: p.progress,
          progressReason: p.reason,
          progressSince: p.since,
          toldAttempt: p.toldAttempt,
        })
        .where('id', '=', p.id),
    ),
    setPatience: change('run', (p: { id: string; until: number }) =>
      db.updateTable('runs').set({ patientUntil: p.until }).where('id', '=', p.id),
    ),
  };
}
