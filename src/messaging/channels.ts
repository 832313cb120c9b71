import type { AgentRow, ChannelRow, Tx } from '../store/store.ts';

/** The DM of two participants, made when they first talk. Its name is for people; the pair of ids is what finds it. */
export async function openDm(tx: Tx, a: Side, b: Side, now: number): Promise<string> {
  const pair = [a.id, b.id].sort().join(' ');
  const dm = await tx.getDm({ pair });
  if (dm) return dm.id;
  const [x, y] = [a.handle, b.handle].sort();
  const id = await freeId(tx, `dm-${x}-${y}`.toLowerCase());
  await makeChannel(tx, { id, kind: 'dm', topic: '', pair, team_of: null, created_at: now }, [a.id, b.id]);
  return id;
}

/** The channel of a parent and its children; each child joins as it is made. */
export async function joinTeam(tx: Tx, parent: AgentRow, childId: string, now: number): Promise<void> {
  const team = await tx.getTeamChannel({ teamOf: parent.id });
  if (team) return tx.joinChannel({ channelId: team.id, participantId: childId });
  const id = await freeId(tx, `team-${parent.handle}`.toLowerCase());
  const topic = `The team of ${parent.handle}`;
  await makeChannel(tx, { id, kind: 'private', topic, pair: null, team_of: parent.id, created_at: now }, [
    parent.id,
    childId,
  ]);
}

interface Side {
  readonly id: string;
  readonly handle: string;
}

async function makeChannel(tx: Tx, channel: ChannelRow, memberIds: readonly string[]): Promise<void> {
  await tx.insertChannel(channel);
  for (const participantId of memberIds) await tx.joinChannel({ channelId: channel.id, participantId });
}

/** Handles may contain what joins them, so two pairs can want the same name: the second gets a number. */
async function freeId(tx: Tx, wanted: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? wanted : `${wanted}.${n}`;
    if (!(await tx.getChannel({ id }))) return id;
  }
}
