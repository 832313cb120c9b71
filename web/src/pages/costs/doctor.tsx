import { useState } from 'preact/hooks';
import type { Finding } from '../../../../src/client/browser.ts';
import { Failure } from '../../parts/empty.tsx';
import { plural } from '../../parts/numbers.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showSecond } from '../../parts/time.ts';
import { api } from '../../state/session.ts';

const MARKS = { ok: 'done', warning: 'need', problem: 'fail' } as const;

type Examined =
  | { readonly kind: 'not' | 'running' }
  | { readonly kind: 'found'; readonly findings: readonly Finding[]; readonly at: number }
  | { readonly kind: 'failed'; readonly error: string };

/** What `substrat doctor` says. It starts programs and takes seconds, so it runs when one asks. */
export function Doctor() {
  const [state, setState] = useState<Examined>({ kind: 'not' });
  const examine = (): void => {
    setState({ kind: 'running' });
    api.examine().then(
      ({ findings }) => setState({ kind: 'found', findings, at: Date.now() }),
      (error: Error) => setState({ kind: 'failed', error: error.message }),
    );
  };
  return (
    <section class="part">
      <div class="part-head">
        <h2>Doctor</h2>
        <span class="muted" role="status">
          {words(state)}
        </span>
        <span class="grow" />
        <button type="button" class="btn sm" disabled={state.kind === 'running'} onClick={examine}>
          {state.kind === 'found' ? 'Examine again' : 'Examine the installation'}
        </button>
      </div>
      {state.kind === 'failed' && <Failure error={state.error} retry={examine} />}
      {state.kind === 'found' && (
        <ul class="findings">
          {sorted(state.findings).map(({ what, state: kind, detail, mend }) => (
            <li key={what}>
              <StateMark mark={MARKS[kind]} />
              <b>{what}</b>
              <span class="wrap">
                <span class="sr">{kind}: </span>
                {detail}
                {mend && <span class="mend">{mend}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function words(state: Examined): string {
  if (state.kind === 'running') return 'Examining, this takes some seconds';
  if (state.kind !== 'found') return 'Checks programs, store, sandbox, disk and clock where the daemon runs.';
  const count = (kind: Finding['state']): number => state.findings.filter((one) => one.state === kind).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const found = [
    ...(problems > 0 ? [plural(problems, 'problem')] : []),
    ...(warnings > 0 ? [plural(warnings, 'warning')] : []),
  ];
  return `${found.join(', ') || 'All is well'}, ${showSecond(state.at)}`;
}

/** What needs eyes first. */
function sorted(findings: readonly Finding[]): Finding[] {
  const rank = { problem: 0, warning: 1, ok: 2 };
  return findings.toSorted((a, b) => rank[a.state] - rank[b.state]);
}
