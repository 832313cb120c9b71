import { signal, useComputed, useSignal } from '@preact/signals';
import type { Agent, Usage } from '../../../../src/client/browser.ts';
import { describeAgent } from '../../parts/agent-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { Meter } from '../../parts/meter.tsx';
import { plural, showCost, showCount } from '../../parts/numbers.ts';
import { PageBar } from '../../parts/page-bar.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { agentByHandle, agentById, agentOrder, placed } from '../../state/agents.ts';
import { type Loaded, useLoad } from '../../state/load.ts';
import { href, route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { remembered } from '../../state/storage.ts';
import { AgentPane } from './agent-pane.tsx';
import { Between } from './between.tsx';
import { NewAgent } from './new-agent.tsx';
import { agentsOf, type Project, projectsOf } from './projects.ts';

const stored = remembered('project');
/** The directory of the project whose agents are shown; null for all. */
const chosen = signal(stored.get());

/** Who does what, why not, and what it costs. */
export function Team() {
  const creating = useSignal(false);
  const [, opened] = route.value;
  const agent = opened === undefined ? null : agentByHandle(opened);
  const agents = placed.value;
  const projects = projectsOf(agents);
  const project = projects.find(({ directory }) => directory === chosen.value) ?? null;
  const shown = project && agentsOf(agents, project.directory);
  const rows = agentOrder.value.filter(({ id }) => shown === null || shown.has(id));
  const usage = useLoad(
    'usage today',
    async () => new Map((await api.listUsage({ by: 'agent', since: today() })).items.map((row) => [row.of, row])),
    ({ type }) => type === 'run_ended',
  );
  const add = (
    <button type="button" class="btn main-act" onClick={() => (creating.value = true)}>
      New agent
    </button>
  );
  return (
    <>
      <PageBar title="Team" note={plural(rows.length, 'agent')}>
        {projects.length > 0 && <ProjectChoice projects={projects} project={project} />}
        {add}
      </PageBar>
      {rows.length === 0 ? (
        <Empty icon="team" title="There is no agent yet" acts={add}>
          An agent has a provider that runs its turns. Create one here, or with <code>substrat agent create</code>.
        </Empty>
      ) : (
        <div class={`split${agent ? ' has-pane' : ' alone'}`}>
          <div class="col">
            <Strip usage={usage} />
            <div class="scroll">
              <table class="tbl cards">
                <thead>
                  <tr>
                    <th>Agent</th>
                    <th>State and reason</th>
                    <th class="num">Queue</th>
                    <th class="num c-tok">Tokens today</th>
                    <th class="num">Cost today</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map(({ id, depth }) => (
                    <Row key={id} id={id} depth={depth} usage={usage.value} isOpen={agent?.id === id} />
                  ))}
                </tbody>
              </table>
              <Between />
            </div>
          </div>
          {agent && <AgentPane key={agent.id} agent={agent} />}
        </div>
      )}
      {creating.value && <NewAgent onClose={() => (creating.value = false)} />}
    </>
  );
}

function ProjectChoice({
  projects,
  project,
}: {
  readonly projects: readonly Project[];
  readonly project: Project | null;
}) {
  const choose = (directory: string) => {
    chosen.value = directory || null;
    stored.set(chosen.value);
  };
  return (
    <label class="desk">
      <span class="sr">Project</span>
      <select class="input" value={project?.directory ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">All projects</option>
        {projects.map(({ directory, name }) => (
          <option key={directory} value={directory} title={directory}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

type UsageByHandle = ReadonlyMap<string, Usage>;

function Strip({ usage: { value: usage, problem } }: { readonly usage: Loaded<UsageByHandle> }) {
  const agents = useComputed(() => agentOrder.value.flatMap(({ id }) => agentById(id) ?? []));
  const nodes = useLoad(
    'nodes',
    async () => (await api.listNodes()).items.filter(({ state }) => state === 'alive'),
    ({ type }) => type.startsWith('run_') || type.startsWith('delivery_'),
  );
  const count = (of: 'slots' | 'running' | 'queued'): number =>
    (nodes.value ?? []).reduce((sum, node) => sum + node[of], 0);
  const busy = agents.value.filter(({ state }) => state === 'busy');
  const pending = agents.value.reduce((sum, agent) => sum + agent.pending, 0);
  const parked = agents.value.filter(({ status }) => status?.kind === 'parked' || status?.kind === 'resting');
  const paused = agents.value.filter(({ status }) => status?.kind === 'paused');
  const all = [...(usage?.values() ?? [])];
  const sum = (of: (row: Usage) => number): number => all.reduce((total, row) => total + of(row), 0);
  const held = [names(paused, 'is paused', 'are paused'), names(parked, 'is parked', 'are parked')].filter(Boolean);
  return (
    <div class="strip">
      <section>
        <h2>Slots</h2>
        <div class="fig">
          {nodes.value ? `${count('running')} of ${count('slots')}` : unread(nodes.problem)} <span>in use</span>
        </div>
        <Meter parts={[{ of: count('running'), kind: 'run' }]} whole={count('slots')} />
        <div class="hint cut">{names(busy, 'runs', 'run') || 'Nobody works.'}</div>
      </section>
      <section>
        <h2>Queue</h2>
        <div class="fig">
          {nodes.value ? count('queued') : unread(nodes.problem)}{' '}
          <span>{count('queued') === 1 ? 'turn waits' : 'turns wait'}</span>
        </div>
        <Meter
          parts={[{ of: count('queued'), kind: held.length > 0 ? 'warn' : 'off' }]}
          whole={Math.max(count('slots'), count('queued'))}
        />
        <div class="hint cut">{held.join(', ') || `${plural(pending, 'message')} to read`}</div>
      </section>
      <section>
        <h2>Spend today</h2>
        <div class="fig">{usage ? showCost(sum(({ costUsd }) => costUsd)) : unread(problem)}</div>
        <div class="hint">
          {usage &&
            `${showCount(sum((row) => row.inputTokens + row.outputTokens))} tokens, ${plural(
              sum(({ runs }) => runs),
              'run',
            )}`}
        </div>
      </section>
    </div>
  );
}

/** In the place of a figure that is being read, or could not be read. */
function unread(problem: string | null): string {
  return problem === null ? '\u00a0' : 'unknown';
}

function names(agents: readonly Agent[], one: string, many: string): string {
  if (agents.length === 0) return '';
  const shown = agents.slice(0, 3).map(({ name }) => name);
  const more = agents.length > 3 ? ` and ${agents.length - 3} more` : '';
  return `${shown.join(', ')}${more} ${agents.length === 1 ? one : many}`;
}

interface RowProps {
  readonly id: string;
  readonly depth: number;
  readonly usage: UsageByHandle | null;
  readonly isOpen: boolean;
}

function Row({ id, depth, usage, isOpen }: RowProps) {
  const agent = agentById(id);
  if (!agent) return null;
  const { mark, why } = describeAgent(agent);
  const spent = usage?.get(agent.handle);
  return (
    <tr aria-current={isOpen ? 'true' : undefined}>
      <td>
        <div class="tree">
          {Array.from({ length: Math.min(depth, 6) }, (_, i) => (
            <svg key={i} class="elbow" viewBox="0 0 12 12" aria-hidden="true">
              {i === Math.min(depth, 6) - 1 && (
                <path d="M2 0v6h9" fill="none" stroke="currentColor" stroke-width="1.3" />
              )}
            </svg>
          ))}
          <a class="plain cut" href={href('team', agent.handle)} title={agent.handle}>
            {agent.name}
          </a>
          <span class="prov">{agent.provider}</span>
        </div>
      </td>
      <td class="wide">
        <div class={`why ${mark}`}>
          <StateMark mark={mark} />
          <span class="txt">{why}</span>
        </div>
      </td>
      <td class="num extra">{agent.pending}</td>
      <td class="num c-tok extra">{spent ? showCount(spent.inputTokens + spent.outputTokens) : usage ? '0' : ''}</td>
      <td class="num extra">{spent ? showCost(spent.costUsd) : usage ? showCost(0) : ''}</td>
    </tr>
  );
}

/** Days of usage are in UTC. */
function today(): string {
  return new Date().toISOString().slice(0, 10);
}
