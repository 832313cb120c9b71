import { useState } from 'preact/hooks';
import { agentById, agentOrder } from '../state/agents.ts';
import { channels, nameOf } from '../state/channels.ts';
import { listShortcuts } from '../state/keys.ts';
import { go } from '../state/route.ts';
import { isOwner, me } from '../state/session.ts';
import { Chooser } from './chooser.tsx';
import { PLACES } from './places.ts';

interface Choice {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly run: () => void;
}

const MOST = 12;

/** Goes anywhere and does anything by name: a combobox in a dialog. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [query, setQuery] = useState('');
  const found = choices()
    .map((choice) => ({ choice, score: scoreOf(choice.name, query) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST)
    .map(({ choice }) => choice);
  return (
    <Chooser
      title="Go to"
      label="Go to a page, channel or agent"
      list="Places"
      query={query}
      items={found}
      keyOf={({ id }) => id}
      show={({ name, kind }) => (
        <>
          <span class="cut">{name}</span>
          <span class="faint">{kind}</span>
        </>
      )}
      onQuery={setQuery}
      onPick={({ run }) => {
        onClose();
        run();
      }}
      onClose={onClose}
    >
      {found.length === 0 && <p class="dialog-body muted">Nothing is called that.</p>}
    </Chooser>
  );
}

function choices(): Choice[] {
  const places = PLACES.filter(({ owner }) => !owner || isOwner.value).map(({ page, name }) => ({
    id: `page ${page}`,
    name,
    kind: 'page',
    run: () => go(page),
  }));
  const rooms = [...channels.value.values()].map((channel) => ({
    id: `channel ${channel.id}`,
    name: nameOf(channel, me.value),
    kind: channel.kind === 'dm' ? 'direct message' : 'channel',
    run: () => go('talk', channel.id),
  }));
  const agents = agentOrder.value.flatMap(({ id }) => {
    const agent = agentById(id);
    return agent ? [{ id, name: agent.handle, kind: 'agent', run: () => go('team', agent.handle) }] : [];
  });
  const actions = listShortcuts().map(({ keys, what, run }) => ({ id: `key ${keys}`, name: what, kind: keys, run }));
  return [...places, ...rooms, ...agents, ...actions];
}

/** All letters in their order; better at the beginning and without gaps. */
function scoreOf(name: string, query: string): number {
  const [text, wanted] = [name.toLowerCase(), query.trim().toLowerCase()];
  if (wanted === '') return 1;
  const at = text.indexOf(wanted);
  if (at >= 0) return 1000 - at - text.length / 100;
  let from = 0;
  for (const letter of wanted) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return 0;
  }
  return 100 - from;
}
