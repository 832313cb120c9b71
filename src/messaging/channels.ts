import type { Agent } from '../core/agent.ts';
import { keyOf, USER_ID } from '../core/agent.ts';
import type { Channel } from '../core/channel.ts';
import { SubstratError } from '../core/errors.ts';
import { checkLine } from '../core/line.ts';
import { shorten } from '../core/text.ts';
import type { Tx } from './tx.ts';

/** One of the two participants of a DM, or the participant that looks for a channel. */
export interface Side {
  readonly id: string;
  readonly handle: string;
}

const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export interface NewChannel {
  readonly id: string;
  readonly kind: 'public' | 'private';
  readonly topic: string;
  readonly memberIds: readonly string[];
}

/** Creates a channel whose name cannot be confused with a DM's or a team's. */
export async function createChannel(tx: Tx, wanted: NewChannel, by: string, now: number): Promise<Channel> {
  const { id, kind, topic, memberIds } = wanted;
  if (!SLUG.test(id) || /^(dm|team)-/.test(id)) {
    throw new SubstratError(
      'bad_request',
      `"${shorten(id)}" is not a valid channel id. Use 1 to 64 lowercase letters, digits, "_" or "-", starting with a letter or digit; "dm-…" and "team-…" are reserved.`,
    );
  }
  checkLine('The topic', topic);
  if (await tx.channels.getChannel({ id }))
    throw new SubstratError('name_taken', `The channel "${id}" exists already.`);
  const channel: Channel = { id, kind, topic, pair: null, teamOf: null, createdAt: now, createdBy: by };
  await makeChannel(tx, channel, memberIds);
  await tx.events.appendEvent({ type: 'channel_created', at: now, channelId: id, data: { channelId: id, by } });
  return channel;
}

/** The DM of two participants; null if they have not talked yet. */
export async function findDm(tx: Tx, a: Pick<Side, 'id'>, b: Pick<Side, 'id'>): Promise<Channel | null> {
  return tx.channels.getDm({ pair: pairOf(a, b) });
}

function pairOf(a: Pick<Side, 'id'>, b: Pick<Side, 'id'>): string {
  return [a.id, b.id].sort().join(' ');
}

/**
 * The DM of two participants, created when they first talk. Its name is for people; it is looked up by the pair of
 * ids.
 */
export async function openDm(tx: Tx, a: Side, b: Side, now: number): Promise<string> {
  const pair = pairOf(a, b);
  const dm = await findDm(tx, a, b);
  if (dm) return dm.id;
  const [x, y] = [a.handle, b.handle].sort();
  const id = await freeId(tx, `dm-${x}-${y}`.toLowerCase());
  const channel: Channel = { id, kind: 'dm', topic: '', pair, teamOf: null, createdAt: now, createdBy: null };
  await makeChannel(tx, channel, [a.id, b.id]);
  return id;
}

/** The channel of a parent and its children; each child joins when it is created. */
export async function joinTeam(tx: Tx, parent: Agent, childId: string, now: number): Promise<void> {
  const team = await tx.channels.getTeamChannel({ teamOf: parent.id });
  if (team) {
    await tx.channels.tryJoinChannel({ channelId: team.id, participantId: childId });
    return;
  }
  const id = await freeId(tx, `team-${parent.handle}`.toLowerCase());
  const topic = `The team of ${parent.handle}`;
  const made = { pair: null, teamOf: parent.id, createdAt: now, createdBy: null };
  await makeChannel(tx, { id, kind: 'private', topic, ...made }, [parent.id, childId]);
}

/** Whether a participant may see a channel: its own and the public ones. The owner sees all. */
export async function seesChannel(tx: Tx, participantId: string, channel: Channel): Promise<boolean> {
  if (channel.kind === 'public' || participantId === USER_ID) return true;
  return tx.channels.isMember({ channelId: channel.id, participantId });
}

/**
 * The channel that an id means for a participant. Channels that it may not see do not exist for it. If a time is
 * given, a missing DM is opened.
 */
export async function resolveChannel(tx: Tx, who: Side, id: string, now: number | null): Promise<Channel> {
  const channel = await tx.channels.getChannel({ id });
  if (channel && channel.kind !== 'dm' && (await seesChannel(tx, who.id, channel))) return channel;
  const dm = /^dm-/i.test(id) ? await resolveDm(tx, who, keyOf(id), now) : null;
  if (dm) return dm;
  throw new SubstratError('not_found', `Channel "${shorten(id)}" does not exist or you cannot see it.`);
}

export async function otherSide(tx: Tx, dm: Channel, id: string): Promise<Side> {
  const otherId = dm.pair?.split(' ').find((one) => one !== id) ?? '';
  const other = await tx.participants.getParticipantById({ id: otherId });
  if (!other || !dm.pair?.split(' ').includes(id)) {
    throw new SubstratError('forbidden', `Only the two participants of the DM ${dm.id} can write there.`);
  }
  return other;
}

async function resolveDm(tx: Tx, who: Side, id: string, now: number | null): Promise<Channel | null> {
  const only = await ownDm(tx, who, id);
  // The owner can read others' DMs; whether it may write there is checked later.
  if (!only) return who.id === USER_ID ? ((await tx.channels.getChannel({ id })) ?? (await dmOfOthers(tx, id))) : null;
  if ('dm' in only) return only.dm;
  return now === null ? null : tx.channels.getChannel({ id: await openDm(tx, who, only.other, now) });
}

/**
 * `dm-x-y` in either order: a DM of the participant, or whom it may open one with. Handles may contain "-", so an id can
 * match several pairs: exactly one of the participant's own DMs and reachable participants must match.
 */
export async function ownDm(tx: Tx, who: Side, id: string): Promise<{ dm: Channel } | { other: Side } | null> {
  const found = new Map<string, { dm: Channel } | { other: Side }>();
  const named = await tx.channels.getChannel({ id });
  const sides = named?.pair?.split(' ') ?? [];
  if (named && sides.includes(who.id)) found.set(sides.find((one) => one !== who.id) ?? who.id, { dm: named });
  for (const other of await othersNamed(tx, who, id.slice('dm-'.length))) {
    const dm = await findDm(tx, who, other);
    if (dm) found.set(other.id, { dm });
    else if (await mayOpenDm(tx, who.id, other.id)) found.set(other.id, { other });
  }
  const [only] = found.values();
  if (found.size > 1) {
    throw new SubstratError('conflict', `"${shorten(id)}" matches more than one of your DMs; use \`recipient\`.`);
  }
  return only ?? null;
}

/** The DM of two other participants whose handles are in the id, in either order. */
async function dmOfOthers(tx: Tx, id: string): Promise<Channel | null> {
  const parts = id.slice('dm-'.length).split('-');
  const found = new Map<string, Channel>();
  for (let i = 1; i < parts.length; i += 1) {
    const [a, b] = [
      await tx.participants.getParticipant({ handleKey: parts.slice(0, i).join('-') }),
      await tx.participants.getParticipant({ handleKey: parts.slice(i).join('-') }),
    ];
    const dm = a && b && (await findDm(tx, a, b));
    if (dm) found.set(dm.id, dm);
  }
  if (found.size <= 1) return found.values().next().value ?? null;
  const ids = [...found.keys()].join(', ');
  throw new SubstratError('conflict', `"${shorten(id)}" matches more than one DM: ${ids}.`);
}

async function othersNamed(tx: Tx, who: Side, pair: string): Promise<Side[]> {
  const me = keyOf(who.handle);
  const handles = [
    ...(pair.startsWith(`${me}-`) ? [pair.slice(me.length + 1)] : []),
    ...(pair.endsWith(`-${me}`) ? [pair.slice(0, -me.length - 1)] : []),
  ];
  const others: Side[] = [];
  for (const handle of handles) {
    const other = await tx.participants.getParticipant({ handleKey: handle });
    if (other && other.kind !== 'system' && other.id !== who.id) others.push(other);
  }
  return others;
}

/** Allowed one hop away or within a shared channel. The owner reaches everyone, a root the owner. */
async function mayOpenDm(tx: Tx, id: string, otherId: string): Promise<boolean> {
  if (id === USER_ID) return true;
  const [me, other] = [await tx.agents.getAgent({ id }), await tx.agents.getAgent({ id: otherId })];
  if (other?.terminatedAt) return false;
  if (me && otherId === USER_ID && me.parentId === null) return true;
  if (me && other && (me.parentId === otherId || other.parentId === id)) return true;
  if (me?.parentId && me.parentId === other?.parentId) return true;
  return tx.channels.shareChannel({ a: id, b: otherId });
}

async function makeChannel(tx: Tx, channel: Channel, memberIds: readonly string[]): Promise<void> {
  await tx.channels.insertChannel(channel);
  for (const participantId of memberIds) await tx.channels.tryJoinChannel({ channelId: channel.id, participantId });
}

/** Handles may contain the separator, so two pairs can have the same name: the second gets a number. */
async function freeId(tx: Tx, wanted: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? wanted : `${wanted}.${n}`;
    if (!(await tx.channels.getChannel({ id }))) return id;
  }
}
