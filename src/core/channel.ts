import type { AgentId, ChannelId, ParticipantId } from './ids.ts';

export type ChannelKind = 'public' | 'private' | 'dm';

export interface Channel {
  readonly id: ChannelId;
  readonly kind: ChannelKind;
  readonly topic: string;
  /** For a DM, the two participants' ids in order, joined. */
  readonly pair: string | null;
  /** For a team's channel, the parent. */
  readonly teamOf: AgentId | null;
  readonly createdAt: number;
  /** Null for DMs and teams, which are created with their members. */
  readonly createdBy: ParticipantId | null;
}

/** What wakes a member agent: every post of a person, only a mention, nothing. */
export type Wake = 'all' | 'mentions' | 'none';

export interface Member {
  readonly channelId: ChannelId;
  readonly participantId: ParticipantId;
  /** The order of joining. */
  readonly position: number;
  readonly wake: Wake;
  /** The number of the last message that it has read. */
  readonly readSeq: number;
}

export type ParticipantKind = 'agent' | 'person' | 'system';

export interface Participant {
  readonly id: ParticipantId;
  readonly kind: ParticipantKind;
  readonly handle: string;
  readonly handleKey: string;
  readonly createdAt: number;
}
