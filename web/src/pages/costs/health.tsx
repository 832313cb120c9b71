import { Loading } from '../../parts/loading.tsx';
import { plural } from '../../parts/numbers.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { api } from '../../state/session.ts';

/** The daemon, the nodes on its store, and who is signed in. */
export function Health() {
  const health = useLoad('health', async () => {
    const [status, nodes, tokens] = await Promise.all([api.getStatus(), api.listNodes(), api.listTokens()]);
    return { status, nodes: nodes.items, tokens: tokens.items.filter(({ revokedAt }) => revokedAt === null) };
  });
  return (
    <Loading of={health}>
      {({ status, nodes, tokens }) => (
        <div class="health">
          <section>
            <h2>Daemon</h2>
            {[...status.notices, ...(status.sandboxProblem ? [status.sandboxProblem] : [])].map((notice) => (
              <p key={notice} class="why need">
                <StateMark mark="need" />
                <span class="txt wrap">{notice}</span>
              </p>
            ))}
            <dl class="facts">
              <dt>Version</dt>
              <dd>{status.version}</dd>
              <dt>Sandbox</dt>
              <dd>{status.sandbox === 'none' ? 'none: agents can reach everything that you can' : status.sandbox}</dd>
              <dt>Address</dt>
              <dd>{status.url ?? 'none'}</dd>
              <dt>Home</dt>
              <dd class="mono">{status.home}</dd>
              <dt>Configuration</dt>
              <dd class="mono">{status.config ?? 'none: defaults'}</dd>
              <dt>Store</dt>
              <dd class="mono">{status.store}</dd>
            </dl>
          </section>
          <section>
            <h2>Nodes</h2>
            <ul class="lines">
              {nodes.map((node) => (
                <li key={node.id}>
                  <StateMark mark={node.state === 'dead' ? 'fail' : node.state === 'alive' ? 'done' : 'park'} />
                  <span class="grow cut">{node.name ?? node.id}</span>
                  <span class="muted">
                    {node.self ? 'this one' : node.state}, {plural(node.running, 'run')} in {plural(node.slots, 'slot')}
                    , {node.queued} wait, {plural(node.agents, 'agent')}
                    {!node.self && node.seenAt && `, heard ${showClock(node.seenAt)}`}
                  </span>
                </li>
              ))}
            </ul>
          </section>
          <section>
            <h2>Signed in</h2>
            <ul class="lines">
              {tokens.map((token) => (
                <li key={token.id}>
                  <span class="grow cut">
                    {token.as} <span class="muted">{token.label || token.kind}</span>
                  </span>
                  <span class="faint small nowrap">
                    {token.expiresAt ? `until ${showClock(token.expiresAt)}` : 'no end'}
                  </span>
                  <button
                    type="button"
                    class="btn sm danger"
                    aria-label={`Revoke ${token.as}, ${token.label || token.kind}`}
                    onClick={() => void api.revokeToken(token.id).then(health.reload)}
                  >
                    Revoke
                  </button>
                </li>
              ))}
            </ul>
          </section>
        </div>
      )}
    </Loading>
  );
}
