/**
 * A string that identifies one kind of thing. Plain strings are accepted, because ids arrive from outside as strings;
 * an id of another kind is a type error.
 */
type Id<Kind extends string> = string & { readonly kind?: Kind };

export type AgentId = Id<'agent'>;
/** Agents, people and the system. */
export type ParticipantId = Id<'agent' | 'person' | 'system'>;
export type ChannelId = Id<'channel'>;
/** A request has the id of its message. */
export type MessageId = Id<'message'>;
export type RunId = Id<'run'>;
export type NodeId = Id<'node'>;
export type WorkspaceId = Id<'workspace'>;
export type BlockId = Id<'block'>;
export type PassageId = Id<'passage'>;
export type DocumentId = Id<'document'>;
export type BudgetId = Id<'budget'>;
export type TokenId = Id<'token'>;
export type ChunkId = number & { readonly kind?: 'chunk' };
