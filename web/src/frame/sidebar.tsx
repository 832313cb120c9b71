import type { Channel } from '../../../src/client/browser.ts';
import { describeAgent } from '../parts/agent-state.ts';
import { Avatar } from '../parts/avatar.tsx';
import { Icon } from '../parts/icon.tsx';
import { plural } from '../parts/numbers.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { agentById, agentOrder } from '../state/agents.ts';
import { channels, nameOf } from '../state/channels.ts';
import { press } from '../state/keys.ts';
import { useLoad } from '../state/load.ts';
import { needs } from '../state/needs.ts';
import { href, route } from '../state/route.ts';
import { api, isOwner, me, signOut } from '../state/session.ts';
import { flipTheme } from '../state/theme.ts';
import { LiveMark } from './live-mark.tsx';
import { PLACES } from './places.ts';

export function Sidebar({ open, onNewChannel }: { readonly open: boolean; readonly onNewChannel: () => void }) {
  return (
    <aside class={`side${open ? ' is-open' : ''}`} aria-label="Navigation">
      <div class="brand">
        <Icon name="logo" />
        <span>Substrat</span>
        <span class="grow" />
        <LiveMark />
      </div>
      <div class="scroll">
        <Pages />
        <Rooms onNewChannel={onNewChannel} />
        <Agents />
      </div>
      <div class="side-foot">
        <Avatar handle={me.value} person small />
        <span class="cut grow">{me.value === 'user' ? 'you' : me.value}</span>
        <button type="button" class="btn quiet square" aria-label="Pair a phone" onClick={() => press('P')}>
          <Icon name="phone" />
        </button>
        <button type="button" class="btn quiet square" aria-label="Change theme" onClick={flipTheme}>
          <Icon name="theme" />
        </button>
        <button type="button" class="btn quiet square" aria-label="Sign out" onClick={() => void signOut()}>
          <Icon name="leave" />
        </button>
      </div>
    </aside>
  );
}

function Pages() {
  const [page, opened] = route.value;
  return (
    <nav aria-label="Pages">
      {PLACES.filter(({ owner }) => !owner || isOwner.value).map((place) => (
        <a
          key={place.page}
          href={href(place.page)}
          aria-current={page !== place.page ? undefined : page === 'talk' && opened ? 'true' : 'page'}
        >
          <Icon name={place.icon} />
          {place.name}
          {place.page === 'needs-me' && needs.value.length > 0 && (
            <span class="count you">
              {needs.value.length}
              <span class="sr"> wait for you</span>
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

function Rooms({ onNewChannel }: { readonly onNewChannel: () => void }) {
  const all = [...channels.value.values()];
  const rooms = all.filter(({ kind }) => kind !== 'dm');
  const mine = all.filter(({ kind, member }) => kind === 'dm' && member);
  const others = all.filter(({ kind, member }) => kind === 'dm' && !member);
  return (
    <nav aria-label="Channels">
      <h2>
        Channels
        <span class="grow" />
        <button type="button" class="btn quiet square" aria-label="New channel" onClick={onNewChannel}>
          <Icon name="plus" />
        </button>
      </h2>
      {rooms.map((channel) => (
        <RoomLink key={channel.id} channel={channel} />
      ))}
      {mine.length > 0 && <h2>Direct messages</h2>}
      {mine.map((channel) => (
        <RoomLink key={channel.id} channel={channel} />
      ))}
      {others.length > 0 && <h2>Between agents</h2>}
      {others.map((channel) => (
        <RoomLink key={channel.id} channel={channel} />
      ))}
    </nav>
  );
}

function RoomLink({ channel }: { readonly channel: Channel }) {
  const [page, opened] = route.value;
  const isOpen = page === 'talk' && opened === channel.id;
  return (
    <a
      href={href('talk', channel.id)}
      class={channel.unread > 0 ? 'unread' : undefined}
      aria-current={isOpen ? 'page' : undefined}
    >
      <span class="hash" aria-hidden="true">
        {channel.kind === 'dm' ? '@' : '#'}
      </span>
      <span class="cut" title={channel.topic || channel.id}>
        {nameOf(channel, me.value)}
      </span>
      {channel.unread > 0 && (
        <span class="count">
          {channel.unread > 99 ? '99+' : channel.unread}
          <span class="sr"> unread</span>
        </span>
      )}
    </a>
  );
}

/** So many are shown; the tree shows all. */
const MOST = 40;

function Agents() {
  const rows = agentOrder.value;
  if (rows.length === 0) return null;
  return (
    <nav aria-label="Agents">
      <h2>
        Team
        <span class="grow" />
        <Slots />
      </h2>
      {rows.slice(0, MOST).map(({ id, depth }) => (
        <AgentLink key={id} id={id} depth={depth} />
      ))}
      {rows.length > MOST && <a href={href('team')}>{rows.length - MOST} more</a>}
    </nav>
  );
}

/** "2 of 4 slots": of all nodes that are alive. */
function Slots() {
  const nodes = useLoad(
    'slots',
    async () => (await api.listNodes()).items.filter(({ state }) => state === 'alive'),
    ({ type }) => type === 'run_started' || type === 'run_ended' || type === 'run_retried',
  );
  const sum = (of: 'running' | 'slots'): number => (nodes.value ?? []).reduce((total, node) => total + node[of], 0);
  return nodes.value && <span>{`${sum('running')} of ${plural(sum('slots'), 'slot')}`}</span>;
}

function AgentLink({ id, depth }: { readonly id: string; readonly depth: number }) {
  const agent = agentById(id);
  if (!agent) return null;
  const { mark, why } = describeAgent(agent);
  return (
    <a class={`agent d${Math.min(depth, 2)}`} href={href('team', agent.handle)}>
      <StateMark mark={mark} />
      <span class="cut">
        <span class="who cut">{agent.name}</span>
        <span class={`why cut ${mark}`} title={why}>
          {why}
        </span>
      </span>
    </a>
  );
}
