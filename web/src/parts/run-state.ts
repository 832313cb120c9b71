import type { Run } from '../../../src/client/browser.ts';
import type { Mark } from './state-mark.tsx';

/** The shape and the words for a run. */
export function describeRun({ state, attempt, error }: Pick<Run, 'state' | 'attempt' | 'error'>): {
  readonly mark: Mark;
  readonly word: string;
} {
  const tries = attempt > 1 ? `, attempt ${attempt}` : '';
  if (state === 'running') return { mark: 'run', word: `running${tries}` };
  if (state === 'created') return { mark: 'queue', word: error ? `waits to try again: ${error}` : 'queued' };
  if (state === 'completed') return { mark: 'done', word: `completed${tries}` };
  if (state === 'cancelled') return { mark: 'park', word: 'cancelled' };
  return { mark: 'fail', word: `failed${attempt > 1 ? `, ${attempt} attempts` : ''}` };
}
