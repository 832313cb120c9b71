import type { AgentId, ChannelId, ParticipantId } from './ids.ts';

export type ChannelKind = 'public' | 'private' | 'dm';

export interface Channel {
  readonly id: ChannelId;
  readonly kind: ChannelKind;
  readonly topic: string;
  /** For a DM: the ids of both participants, sorted and joined. */
  readonly pair: string | null;
  /** For a team channel: the parent agent. */
  readonly teamOf: AgentId | null;
  readonly createdAt: number;
  /** Null for DMs and team channels, which are created with their members. */
  readonly createdBy: ParticipantId | null;
}

/** What wakes a member agent: every post by a person, only mentions, or nothing. */
export type Wake = 'all' | 'mentions' | 'none';

export interface Member {
  readonly channelId: ChannelId;
  readonly participantId: ParticipantId;
  /** The order in which members joined. */
  readonly position: number;
  readonly wake: Wake;
  /** Sequence number of the last message that the member has read. */
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
