import { useState } from 'preact/hooks';
import type { Agent } from '../../../../src/client/browser.ts';
import { describeAgent } from '../../parts/agent-state.ts';
import { Pane } from '../../parts/pane.tsx';
import { describeRun } from '../../parts/run-state.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock } from '../../parts/time.ts';
import { draftOf } from '../../state/drafts.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { ChangeAgent } from './change-agent.tsx';

/** One agent: what it is, what it did, and what one can do with it. */
export function AgentPane({ agent }: { readonly agent: Agent }) {
  const { mark, why } = describeAgent(agent);
  const runs = useLoad(
    `runs ${agent.id}`,
    async () => (await api.listRuns({ agent: agent.id, limit: 8 })).items,
    (event) => 'agentId' in event.data && event.data.agentId === agent.id,
  );
  const running = runs.value?.find(({ state }) => state === 'running');
  return (
    <Pane
      label={agent.name}
      title={agent.handle}
      head={<span class="prov">{agent.provider}</span>}
      back={href('team')}
      close="Close"
      region="Details"
    >
      <div class="pane-body">
        <div class={`why ${mark}`}>
          <StateMark mark={mark} />
          <span class="txt wrap">{why}</span>
        </div>
        <Acts agent={agent} runningId={running?.id ?? null} />
        <Message agent={agent} />
        <dl class="facts">
          {agent.role && [<dt key="role">Role</dt>, <dd key="role is">{agent.role}</dd>]}
          <dt>Model</dt>
          <dd>{agent.model ?? "the provider's own"}</dd>
          {agent.persona && [<dt key="persona">Persona</dt>, <dd key="persona is">{agent.persona}</dd>]}
          <dt>Workspace</dt>
          <dd class="mono">
            <a href={href('workspaces', agent.handle)}>{agent.workspace}</a>
          </dd>
          <dt>Changes</dt>
          <dd>
            <a href={href('workspaces', agent.handle, 'changes')}>Since its base</a>
          </dd>
          <dt>Tools</dt>
          <dd>{agent.tools ? agent.tools.join(', ') : 'all'}</dd>
          <dt>Created</dt>
          <dd>{showClock(agent.createdAt)}</dd>
          <dt>Memory</dt>
          <dd>
            <a href={href('memory', agent.handle)}>Blocks and passages</a>
          </dd>
        </dl>
        {agent.instructions && (
          <section>
            <h3>Instructions</h3>
            <pre class="value">{agent.instructions}</pre>
          </section>
        )}
        <section>
          <h3>Last runs</h3>
          {runs.value?.length === 0 && <p class="muted">It has not taken a turn yet.</p>}
          <ul class="lines">
            {runs.value?.map((run) => (
              <li key={run.id}>
                <StateMark mark={describeRun(run).mark} />
                <a class="cut grow" href={href('runs', run.id)}>
                  {describeRun(run).word}
                </a>
                <span class="faint small nowrap">{showClock(run.startedAt ?? run.createdAt)}</span>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </Pane>
  );
}

function Acts({ agent, runningId }: { readonly agent: Agent; readonly runningId: string | null }) {
  const [problem, setProblem] = useState<string | null>(null);
  const [asks, setAsks] = useState<'terminate' | 'settings' | null>(null);
  const act = (what: () => Promise<unknown>): void => {
    setProblem(null);
    what().catch((error: Error) => setProblem(error.message));
  };
  return (
    <div class="acts">
      {agent.paused ? (
        <button type="button" class="btn sm main-act" onClick={() => act(() => api.resumeAgent(agent.id))}>
          Resume
        </button>
      ) : (
        <button type="button" class="btn sm" onClick={() => act(() => api.pauseAgent(agent.id))}>
          Pause
        </button>
      )}
      <button type="button" class="btn sm" onClick={() => setAsks('settings')}>
        Settings
      </button>
      {runningId && (
        <button type="button" class="btn sm danger" onClick={() => act(() => api.cancelRun(runningId))}>
          Cancel run
        </button>
      )}
      {asks === 'terminate' ? (
        <>
          <button type="button" class="btn sm danger" onClick={() => act(() => api.terminateAgent(agent.id))}>
            Terminate {agent.name} and all below
          </button>
          <button type="button" class="btn sm" onClick={() => setAsks(null)}>
            Keep
          </button>
        </>
      ) : (
        <button type="button" class="btn sm danger" onClick={() => setAsks('terminate')}>
          Terminate
        </button>
      )}
      {problem && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {asks === 'settings' && <ChangeAgent agent={agent} onClose={() => setAsks(null)} />}
    </div>
  );
}

function Message({ agent }: { readonly agent: Agent }) {
  const draft = draftOf(`agent:${agent.id}`, null);
  const [text, setText] = useState(() => draft.get() ?? '');
  const [said, setSaid] = useState<string | null>(null);
  const write = (next: string): void => {
    setText(next);
    draft.set(next || null);
  };
  const send = async (): Promise<void> => {
    if (text.trim() === '') return;
    try {
      const { messageId } = await api.sendMessage(agent.id, { text });
      write('');
      setSaid((await api.getMessage(messageId)).channelId);
    } catch (error) {
      setSaid(null);
      alertOf(error);
    }
  };
  const [problem, alertOf] = useProblem();
  return (
    <div class="field">
      <textarea
        class="input"
        rows={2}
        aria-label={`Message ${agent.name}`}
        placeholder={`Message ${agent.name}`}
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <span class="acts">
        <button type="button" class="btn sm" disabled={text.trim() === ''} onClick={() => void send()}>
          Send
        </button>
        {said && (
          <span role="status">
            Sent. <a href={href('talk', said)}>Open the conversation</a>
          </span>
        )}
        {problem && (
          <span class="bad" role="alert">
            Not sent. {problem}
          </span>
        )}
      </span>
    </div>
  );
}

function useProblem(): [string | null, (error: unknown) => void] {
  const [problem, setProblem] = useState<string | null>(null);
  return [problem, (error) => setProblem(error instanceof Error ? error.message : String(error))];
}
