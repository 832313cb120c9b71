import { keyOf, USER_ID } from '../core/agent.ts';
import type { Channel, Wake } from '../core/channel.ts';
import { type Applied, decide } from '../core/configured.ts';
import { SubstratError } from '../core/errors.ts';
import type { ApplyItem } from '../http/api.ts';
import { createChannel } from '../messaging/channels.ts';
import { addMember, removeMember, resolveParticipant, setTopic, setWake } from '../messaging/members.ts';
import type { Tx } from '../store/store.ts';
import { show } from './member-fields.ts';
import type { ApplyMode, Members } from './members.ts';
import type { Node, Stored } from './node.ts';

type Declared = Node['config']['channels'][number];
type Item = Omit<ApplyItem, 'kind' | 'name'>;

interface Plan {
  readonly items: readonly Item[];
  readonly apply: (tx: Tx) => Promise<void>;
}

/** Makes the channels of `[channels.*]` what the file says, each in one transaction; the owner is a member of each. */
export async function reconcileChannels(
  { store, config, clock }: Pick<Node, 'store' | 'config' | 'clock'>,
  members: Members,
  stored: Stored,
  mode: ApplyMode,
): Promise<ApplyItem[]> {
  const items: ApplyItem[] = [];
  for (const declared of config.channels) {
    const planned = (tx: Tx) => planChannel(tx, declared, members, mode, clock());
    const work = async (tx: Tx) => {
      const plan = await planned(tx);
      await plan.apply(tx);
      return plan.items;
    };
    const found = mode.dryRun ? (await store.read(planned)).items : await stored(() => store.write(work));
    items.push(...found.map((item) => ({ kind: 'channel' as const, name: declared.id, ...item })));
  }
  return items;
}

async function planChannel(tx: Tx, declared: Declared, members: Members, mode: ApplyMode, now: number): Promise<Plan> {
  const { id } = declared;
  const channel = await tx.channels.getChannel({ id });
  const row = await tx.configured.getConfigured({ kind: 'channel', key: id });
  const left = (note: string): Plan => ({ items: [item('left', null, null, null, note)], apply: async () => {} });
  if (channel && (channel.kind === 'dm' || channel.teamOf !== null)) return left('a DM or a team channel has that id');
  const ids = await participants(tx, declared, members, channel !== null || mode.dryRun);
  if (channel) return changedChannel(tx, { declared, channel, ids, made: members.made, mode, now }, row?.applied ?? {});
  if (row && !mode.recreate.has(id))
    return left(`It was deleted. \`substrat apply --recreate ${id}\` creates it again.`);
  return {
    items: [item('create', null, null, null, row ? 'again' : null)],
    apply: async (write) => {
      const { kind, topic, wake } = declared;
      await createChannel(write, { id, kind, topic, memberIds: [USER_ID, ...ids.values()] }, USER_ID, now);
      for (const [name, participantId] of ids) {
        const setting = wake[name];
        if (setting) await write.channels.trySetWake({ channelId: id, participantId, wake: setting });
      }
      await keep(write, declared, ids, topic, now);
    },
  };
}

interface Changing {
  readonly declared: Declared;
  readonly channel: Channel;
  readonly ids: ReadonlyMap<string, string>;
  readonly made: ReadonlySet<string>;
  readonly mode: ApplyMode;
  readonly now: number;
}

async function changedChannel(tx: Tx, changing: Changing, earlier: Applied): Promise<Plan> {
  const { declared, channel, ids, made, mode, now } = changing;
  const { id, topic } = declared;
  const items: Item[] = [];
  const steps: ((tx: Tx) => Promise<unknown>)[] = [];
  /** Of members that were created a moment ago; they join wherever members may be created. */
  const joins: typeof steps = [];
  if (declared.kind !== channel.kind) {
    items.push(item('left', 'kind', channel.kind, declared.kind, 'a channel keeps its kind'));
  }
  // An empty topic is the default, and says nothing.
  const verdict = decide(topic === '' ? null : topic, earlier.topic, channel.topic);
  const takes = verdict === 'set' || (verdict === 'conflict' && mode.force);
  if (takes) {
    items.push(item('change', 'topic', show(channel.topic), show(topic)));
    steps.push((write) => setTopic(write, channel, USER_ID, topic, now));
  } else if (verdict === 'conflict') {
    items.push(item('conflict', 'topic', show(channel.topic), show(topic), 'changed in the file and by hand'));
  }
  const said = (earlier.members?.file ?? {}) as Readonly<Record<string, string>>;
  for (const [name, participantId] of ids) {
    const isMember = await tx.channels.isMember({ channelId: id, participantId });
    if (isMember || (name in said && !made.has(participantId))) continue;
    items.push(item('change', 'members', null, name));
    const wake = declared.wake[name] ?? 'all';
    const join = (write: Tx) => addMember(write, channel, USER_ID, { participantId, wake }, now);
    steps.push(join);
    if (made.has(participantId)) joins.push(join);
  }
  for (const [name, participantId] of Object.entries(said)) {
    if (declared.members.includes(name)) continue;
    if (!(await tx.channels.isMember({ channelId: id, participantId }))) continue;
    items.push(item('change', 'members', name, null));
    steps.push((write) => removeMember(write, channel, USER_ID, participantId, now));
  }
  const saidWake = (earlier.wake?.file ?? {}) as Readonly<Record<string, Wake>>;
  for (const [name, wake] of Object.entries(declared.wake)) {
    const participantId = ids.get(name);
    const member = participantId && (await tx.channels.getMember({ channelId: id, participantId }));
    if (!member || saidWake[name] === wake || member.wake === wake) continue;
    const isOurs = mode.force || member.wake === (saidWake[name] ?? 'all');
    items.push(item(isOurs ? 'change' : 'conflict', `wake.${name}`, member.wake, wake));
    if (isOurs) {
      const wanted = { participantId: member.participantId, wake };
      steps.push((write) => setWake(write, channel, USER_ID, wanted, now));
    }
  }
  return {
    items,
    apply: async (write) => {
      for (const step of mode.changes ? steps : joins) await step(write);
      if (!mode.changes) return;
      const applied = verdict === 'conflict' && !takes ? earlier.topic?.value : takes ? topic : channel.topic;
      const conflicts = items.some(({ action }) => action === 'conflict');
      if (!conflicts) await keep(write, declared, ids, applied, now);
    },
  };
}

/** The participants that are there already, by how the file names them. Configured members are found by their key. */
async function participants(
  tx: Tx,
  { id, members: names }: Declared,
  { ids, missing }: Members,
  lenient: boolean,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of names) {
    const key = keyOf(name.slice(name.lastIndexOf('/') + 1));
    if (missing.has(key)) continue;
    const participant =
      ids.get(key) ??
      (await resolveParticipant(tx, name).catch((error: Error) => {
        if (lenient) return null;
        throw new SubstratError('config', `[channels.${id}] members: ${error.message}`);
      }));
    if (participant) found.set(name, typeof participant === 'string' ? participant : participant.id);
  }
  return found;
}

async function keep(
  tx: Tx,
  declared: Declared,
  ids: ReadonlyMap<string, string>,
  topic: unknown,
  at: number,
): Promise<void> {
  const { id: key, wake } = declared;
  const applied = {
    topic: { file: declared.topic === '' ? null : declared.topic, value: topic },
    members: { file: Object.fromEntries(ids), value: null },
    wake: { file: wake, value: null },
  };
  const before = await tx.configured.getConfigured({ kind: 'channel', key });
  if (before && JSON.stringify(before.applied) === JSON.stringify(applied)) return;
  await tx.configured.putConfigured({ kind: 'channel', key, agentId: null, applied, at });
}

function item(
  action: ApplyItem['action'],
  field: string | null,
  from: string | null,
  to: string | null,
  note: string | null = null,
): Item {
  return { action, field, from, to, note };
}
