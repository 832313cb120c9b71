import { plural } from '../../parts/numbers.ts';
import { showClock, showWait } from '../../parts/time.ts';
import { now } from '../../state/clock.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api, me } from '../../state/session.ts';
import { talks, talksSince } from '../../state/talks.ts';
import { waits } from '../../state/waits.ts';

/** So many rows are shown: the busiest, and those who wait longest. */
const MOST = 12;

/** Below the tree: limits of providers that are used up, who waits for whom, and who talked to whom. */
export function Between() {
  return (
    <div class="between">
      <Limits />
      <Waiting />
      <Talked />
    </div>
  );
}

function Limits() {
  const providers = useLoad(
    'limits',
    async () => (await api.listProviders()).items,
    ({ type }) => type === 'run_retried' || type === 'run_ended',
  );
  const used = (providers.value ?? []).flatMap(({ name, limits }) => limits.map((limit) => ({ name, ...limit })));
  const ready = (providers.value ?? []).filter(({ found, problem }) => found && problem === null);
  return (
    <section aria-label="Limits of providers">
      <h2>Limits of providers</h2>
      {used.length === 0 && (
        <p class="muted small">No limit is used up. {plural(ready.length, 'provider')} can be used.</p>
      )}
      <ul class="lines">
        {used.map(({ name, account, agent, until, reason }) => (
          <li key={`${name} ${account} ${agent} ${until}`}>
            <b>{name}</b>
            <span class="cut grow muted" title={reason}>
              {[account, agent && `only ${agent}`, reason].filter(Boolean).join(', ')}
            </span>
            <span class="nowrap">
              {showClock(until)}, in {showWait(Date.parse(until) - now.value)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Waiting() {
  const open = [...waits.value.values()].flat().sort((a, b) => a.createdAt.localeCompare(b.createdAt));
  return (
    <section aria-label="Who waits for whom">
      <h2>Who waits for whom</h2>
      {open.length === 0 && <p class="muted small">Nobody waits for an answer.</p>}
      <ul class="lines">
        {open.slice(0, MOST).map((request) => (
          <li key={request.messageId}>
            <span class="cut grow">
              <b>{nameOf(request.from)}</b> {request.from === me.value ? 'wait' : 'waits'} for{' '}
              <b>{nameOf(request.to)}</b>
            </span>
            <span class="muted nowrap">{showWait(now.value - Date.parse(request.createdAt))}</span>
          </li>
        ))}
      </ul>
      {open.length > MOST && <p class="muted small">{open.length - MOST} more</p>}
    </section>
  );
}

function Talked() {
  const pairs = [...talks.value].sort((a, b) => b[1] - a[1]);
  return (
    <section aria-label="Who talked to whom">
      <h2>
        Who talked to whom <span class="faint small">since {showClock(talksSince)}, when this page was opened</span>
      </h2>
      {pairs.length === 0 && <p class="muted small">Nobody has talked since then.</p>}
      <ul class="lines">
        {pairs.slice(0, MOST).map(([pair, count]) => {
          const [from = '', to = ''] = pair.split(' ');
          return (
            <li key={pair}>
              <span class="cut grow">
                <b>{nameOf(from)}</b> to <a href={href('team', to)}>{nameOf(to)}</a>
              </span>
              <span class="muted nowrap">{plural(count, 'message')}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function nameOf(handle: string): string {
  return handle === me.value ? 'you' : handle;
}
