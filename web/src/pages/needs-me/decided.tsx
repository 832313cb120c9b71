import type { Question } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Loading } from '../../parts/loading.tsx';
import { showClock } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';

/** Questions and approvals that have their outcome, newest first: who decided what, and whether it was used. */
export function Decided() {
  const decided = useLoad(
    'decided',
    async () => (await api.listQuestions({ open: false, limit: 100 })).items.filter(({ outcome }) => outcome !== null),
    ({ type }) => type === 'question_settled',
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Decided">
      <Loading of={decided}>
        {(items) =>
          items.length === 0 ? (
            <Empty icon="need" title="Nothing was decided yet">
              Answers, approvals and rejections are listed here.
            </Empty>
          ) : (
            <table class="tbl cards">
              <thead>
                <tr>
                  <th>Agent</th>
                  <th>Asked</th>
                  <th>Outcome</th>
                  <th class="num">When</th>
                </tr>
              </thead>
              <tbody>
                {items.map((question) => (
                  <tr key={question.id}>
                    <td>
                      <a class="plain" href={href('team', question.agent)}>
                        {question.agent}
                      </a>
                    </td>
                    <td class="wide wrap">{question.tool ? `call ${question.tool}` : question.subject}</td>
                    <td class="wide wrap">{outcomeOf(question)}</td>
                    <td class="num extra">{question.settledAt && showClock(question.settledAt)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loading>
    </div>
  );
}

function outcomeOf({ outcome, settledBy, note, usedAt }: Question): string {
  const words = note ? `: ${note.length > 200 ? `${note.slice(0, 199)}…` : note}` : '';
  const used = outcome === 'approved' ? (usedAt ? ', used' : ', not used') : '';
  return `${outcome}${settledBy ? ` by ${settledBy}` : ''}${used}${words}`;
}
