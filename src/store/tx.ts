import type { Agent } from '../core/agent.ts';
import type { Channel, Member, Participant, Wake } from '../core/channel.ts';
import type { Delivery, Round, Waiting } from '../core/delivery.ts';
import type { NewEvent, StoredEvent } from '../core/event.ts';
import type { AgentId, ChannelId, MessageId, NodeId, ParticipantId, RunId, TokenId, WorkspaceId } from '../core/ids.ts';
import type { Broadcast, Message, NewMessage, Request } from '../core/message.ts';
import type { Metadata } from '../core/metadata.ts';
import type { NewRunRecord, Run, RunRecord } from '../core/run.ts';
import type { Scope } from '../core/scope.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import type { Attachments } from './attachments.ts';
import type { Budgets } from './budgets.ts';
import type { ConfiguredThings } from './configured.ts';
import type { Conversations } from './conversations.ts';
import type { Deletions } from './deletions.ts';
import type { Documents } from './document-tx.ts';
import type { EvidenceQueries } from './evidence.ts';
import type { Ids } from './ids.ts';
import type { Leftovers } from './leftovers.ts';
import type { Limits } from './limits.ts';
import type { Memory } from './memory-tx.ts';
import type { Metrics } from './metrics.ts';
import type { Nodes } from './node-tx.ts';
import type { Questions } from './questions.ts';
import type { Reminders } from './reminders.ts';
import type { ReopeningQueries } from './reopening.ts';
import type { Reports } from './reports.ts';
import type { Schedules } from './schedules.ts';
import type { Sessions } from './sessions.ts';
import type { AgentSettings } from './settings.ts';
import type { Snapshots } from './snapshots.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { Timers } from './timers.ts';
import type { Traces } from './traces.ts';
import type { Trees } from './trees.ts';
import type { UsageQueries } from './usage.ts';
import type * as view from './views.ts';
import type { Wips } from './wips.ts';

/**
 * What a transaction can do, by subject. `get…` returns null if there is nothing; `list…` is in the order its comment states.
 * A change that matches no row throws `not_found`, on PostgreSQL at the latest at the commit; `try…` returns whether it matched, and what changes many rows returns how many.
 */
export interface Tx {
  readonly agents: Agents;
  readonly broadcasts: Broadcasts;
  readonly budgets: Budgets;
  readonly channels: Channels;
  readonly deliveries: Deliveries;
  readonly documents: Documents;
  readonly events: Events;
  readonly evidence: EvidenceQueries;
  readonly idempotency: Idempotency;
  readonly ids: Ids;
  readonly memory: Memory;
  readonly messages: Messages;
  readonly metrics: Metrics;
  readonly nodes: Nodes;
  readonly participants: Participants;
  readonly records: Records;
  readonly requests: Requests;
  readonly reports: Reports;
  readonly retention: Retention;
  readonly rounds: Rounds;
  readonly runs: Runs;
  readonly attachments: Attachments;
  readonly configured: ConfiguredThings;
  readonly conversations: Conversations;
  readonly questions: Questions;
  readonly reminders: Reminders;
  readonly schedules: Schedules;
  readonly sessions: Sessions;
  readonly settings: AgentSettings;
  readonly deletions: Deletions;
  readonly leftovers: Leftovers;
  readonly limits: Limits;
  readonly snapshots: Snapshots;
  readonly subscriptions: Subscriptions;
  readonly timers: Timers;
  readonly tokens: Tokens;
  readonly traces: Traces;
  readonly trees: Trees;
  readonly wips: Wips;
  readonly workspaces: Workspaces;
}

/** What a room may touch: `ROOM/tx.ts` lists its parts, and its functions take no more. */
export type Part<Name extends keyof Tx> = Pick<Tx, Name>;

export interface Agents {
  insertAgent(agent: Agent): Promise<void>;
  getAgent(p: { id: AgentId }): Promise<Agent | null>;
  getAgentView(p: { id: AgentId }): Promise<view.AgentView | null>;
  /** A neighbour by name or former name; roots have no siblings. */
  getNeighbour(p: { id: AgentId; parentId: AgentId; nameKey: string }): Promise<Agent | null>;
  /** By name or former name. */
  getRootByName(p: { nameKey: string }): Promise<Agent | null>;
  /** Its own scope within those of all its ancestors. */
  getScope(p: { id: AgentId }): Promise<Scope>;
  /** By creation, in pages; `all` includes terminated agents. */
  listAgentViews(p: { after: view.AgentCursor | null; limit: number; all: boolean }): Promise<view.AgentView[]>;
  /** Living parent, children and siblings, oldest first. */
  listNeighbours(agent: Pick<Agent, 'id' | 'parentId'>): Promise<view.AgentView[]>;
  /** Living siblings, oldest first. */
  listSiblings(p: { id: AgentId; parentId: AgentId }): Promise<Agent[]>;
  /** Living children, oldest first. */
  listChildren(p: { id: AgentId }): Promise<Agent[]>;
  /** The agent and its living descendants, in no order. */
  listSubtree(p: { id: AgentId }): Promise<Agent[]>;
  /** Parent first, root last. */
  listAncestors(p: { id: AgentId }): Promise<Agent[]>;
  /** Living agents of that name, oldest first. */
  listAgentsNamed(p: { nameKey: string }): Promise<Agent[]>;
  /** Living agents that once had that name, oldest first. */
  listFormerlyNamed(p: { nameKey: string }): Promise<Agent[]>;
  listExternalAgents(p: { nodeId: NodeId }): Promise<Agent[]>;
  /** Living agents of a node. */
  listAgentsOn(p: { nodeId: NodeId }): Promise<Agent[]>;
  /** The same, in the order of their creation. */
  listAgentViewsOn(p: { nodeId: NodeId }): Promise<view.AgentView[]>;
  countTree(p: { treeId: AgentId }): Promise<number>;
  countChildren(p: { id: AgentId }): Promise<number>;
  setScope(p: { id: AgentId; tools: Scope }): Promise<void>;
  setTerminated(p: { id: AgentId; at: number }): Promise<void>;
  /** Closes the gate (a time) or opens it (null). A permit that was not used is void. */
  setGate(p: { id: AgentId; at: number | null }): Promise<void>;
  setPermitted(p: { id: AgentId }): Promise<void>;
  setGateTold(p: { id: AgentId }): Promise<void>;
  setMetadata(p: { id: AgentId; metadata: Metadata }): Promise<void>;
  setPaused(p: { id: AgentId; at: number | null; reason: string | null }): Promise<void>;
  /** What executes its turns from now on. */
  setSeat(p: view.SeatChange): Promise<void>;
  /** An attempt with the new seat has ended. */
  setSeatUsed(p: { id: AgentId }): Promise<void>;
  setRestTold(p: { id: AgentId }): Promise<void>;
  setCompleting(p: { id: AgentId }): Promise<void>;
  /** A turn ended well: clears rests. */
  settleAgent(p: { id: AgentId }): Promise<void>;
  restAgent(p: { id: AgentId; until: number; rests: number }): Promise<void>;
  /** Children that wait for the end of the attempt that spawned them. */
  listSpawned(p: { runId: RunId }): Promise<{ readonly id: AgentId }[]>;
  readySpawned(p: { runId: RunId }): Promise<void>;
}

export interface Participants {
  getParticipant(p: { handleKey: string }): Promise<Participant | null>;
  getParticipantById(p: { id: ParticipantId }): Promise<Participant | null>;
  insertPerson(p: { id: ParticipantId; handle: string; handleKey: string; at: number }): Promise<void>;
  /** By handle. */
  listParticipants(p: { after: string; limit: number }): Promise<Participant[]>;
  /** Those who share a channel with a participant, by handle. */
  listAcquaintances(p: { participantId: ParticipantId; after: string; limit: number }): Promise<Participant[]>;
}

export interface Channels {
  insertChannel(channel: Channel): Promise<void>;
  getChannel(p: { id: ChannelId }): Promise<Channel | null>;
  getChannelView(p: { id: ChannelId; participantId: ParticipantId }): Promise<view.ChannelView | null>;
  getDm(p: { pair: string }): Promise<Channel | null>;
  getTeamChannel(p: { teamOf: AgentId }): Promise<Channel | null>;
  getMember(p: view.MemberKey): Promise<Member | null>;
  isMember(p: view.MemberKey): Promise<boolean>;
  /** Whether two participants are in one channel. */
  shareChannel(p: { a: ParticipantId; b: ParticipantId }): Promise<boolean>;
  /** By id: all, or those that the participant sees, which are its own and the public ones. */
  listChannels(p: view.ChannelPage): Promise<view.ChannelView[]>;
  /** Of these channels, those that the participant sees. */
  listSeen(p: {
    participantId: ParticipantId;
    channelIds: readonly ChannelId[];
  }): Promise<{ readonly id: ChannelId }[]>;
  /** Every channel and DM of a participant, by id. */
  listMemberships(p: { participantId: ParticipantId }): Promise<{ readonly channelId: ChannelId }[]>;
  /** The channels of a participant except DMs, by id. */
  listJoined(p: { participantId: ParticipantId; limit: number }): Promise<Channel[]>;
  /** By id. */
  listSharedChannels(p: { a: ParticipantId; b: ParticipantId }): Promise<{ readonly channelId: ChannelId }[]>;
  /** In the order of joining. */
  listMembers(p: { channelId: ChannelId }): Promise<view.MemberView[]>;
  /** False if it is a member already, which keeps its place. */
  tryJoinChannel(p: view.MemberKey & { wake?: Wake }): Promise<boolean>;
  tryLeaveChannel(p: view.MemberKey): Promise<boolean>;
  trySetWake(p: view.MemberKey & { wake: Wake }): Promise<boolean>;
  /** Never moves back. */
  raiseRead(p: view.MemberKey & { seq: number }): Promise<void>;
  setTopic(p: { id: ChannelId; topic: string }): Promise<void>;
}

export interface Messages {
  insertMessage(message: NewMessage): Promise<void>;
  getMessage(p: { id: MessageId }): Promise<Message | null>;
  getMessageView(p: { id: MessageId }): Promise<view.MessageView | null>;
  /** Newest first, older than `before`. */
  listChannelMessages(p: { channelId: ChannelId; before: number; limit: number }): Promise<view.MessageView[]>;
  /** The first message of a thread and those in it, newest first, older than `before`. */
  listThreadMessages(p: { id: MessageId; before: number; limit: number }): Promise<view.MessageView[]>;
  /** What others wrote in the DMs of a person, newest first. */
  listInbox(p: { participantId: ParticipantId; before: number; limit: number }): Promise<view.MessageView[]>;
  /** Open questions to a participant, newest first. */
  listOpenQuestions(p: { participantId: ParticipantId; before: number; limit: number }): Promise<view.MessageView[]>;
  /** What others said in a channel after a number, newest first. */
  listSaid(p: view.SaidAfter): Promise<view.MessageView[]>;
  listReplies(p: { id: MessageId }): Promise<view.MessageView[]>;
  editMessage(p: { id: MessageId; text: string; at: number }): Promise<void>;
  deleteMessage(p: { id: MessageId; at: number }): Promise<void>;
  /** In the order in which they came. */
  listReactions(p: { messageIds: readonly MessageId[] }): Promise<view.ReactionView[]>;
  tryAddReaction(p: view.ReactionKey & { at: number }): Promise<boolean>;
  tryRemoveReaction(p: view.ReactionKey): Promise<boolean>;
}

export interface Deliveries {
  insertDelivery(delivery: Omit<Delivery, 'seq' | 'state' | 'runId'>): Promise<void>;
  /** What an agent's next run may carry, in order. */
  listPending(p: { agentId: AgentId; limit: number }): Promise<view.DeliveryView[]>;
  /** The same without texts: what decides which run carries them, and how long they are. */
  listPendingSizes(p: { agentId: AgentId; limit: number }): Promise<view.SizedDelivery[]>;
  /** The same: what decides which news may be read now. */
  listPendingHeads(p: { agentId: AgentId; limit: number }): Promise<Pick<Waiting, 'authorId' | 'deliveryKind'>[]>;
  isCarrying(p: { runId: RunId; authorId: ParticipantId }): Promise<boolean>;
  /** What a run carries, in order. */
  listCarried(p: { runId: RunId }): Promise<view.DeliveryView[]>;
  /** What a run carries or carried, in order. */
  listDeliveriesOfRun(p: { runId: RunId }): Promise<view.DeliveryView[]>;
  /** The same without texts, which can be long. */
  listHeadsOfRun(p: { runId: RunId }): Promise<view.DeliveryHead[]>;
  /** The same with the beginnings of the texts. */
  listExcerptsOfRun(p: { runId: RunId; longest: number }): Promise<view.DeliveryView[]>;
  /** Agents that have not received a message yet. */
  listPendingRecipients(p: { messageId: MessageId }): Promise<{ readonly agentId: AgentId }[]>;
  injectDelivery(p: view.DeliveryKey & { runId: RunId }): Promise<void>;
  acknowledgeDelivery(p: view.DeliveryKey): Promise<void>;
  /** Not a request that a run carries: it ends with that run. */
  acknowledgePending(p: { messageId: MessageId; agentId: ParticipantId }): Promise<void>;
  /** An external agent left without answering. */
  returnDelivery(p: view.DeliveryKey): Promise<void>;
  endCarried(p: { runId: RunId; state: 'acknowledged' | 'dead' }): Promise<void>;
  /** What a failed run carried is carried again, if its message still exists. Returns how many. */
  reviveCarried(p: { runId: RunId }): Promise<number>;
  killPendingDelivery(p: { messageId: MessageId }): Promise<number>;
  killDeliveriesIn(p: { agentId: AgentId; channelId: ChannelId }): Promise<number>;
  killDeliveriesTo(p: { agentId: AgentId }): Promise<number>;
}

export interface Requests {
  insertRequest(
    request: Omit<Request, 'seq' | 'state' | 'replyId' | 'closedAt' | 'waits' | 'waitsSince'>,
  ): Promise<void>;
  getRequest(p: { id: MessageId }): Promise<Request | null>;
  /** Must be open. */
  closeRequest(p: { id: MessageId; at: number }): Promise<void>;
  /** Compare and set: null if it was closed before. */
  tryCloseRequest(p: { id: MessageId; at: number }): Promise<Request | null>;
  setRequestReply(p: { id: MessageId; replyId: MessageId }): Promise<void>;
  /** A child counts as open until its reply has reached the asker. */
  countOpenChildren(p: { id: MessageId; askerId: ParticipantId }): Promise<number>;
  /** These lists are in the order of asking. */
  listOpenRequestsTo(p: { recipientId: ParticipantId }): Promise<Request[]>;
  listOpenRequests(p: { after: number; limit: number }): Promise<view.OpenRequest[]>;
  listOpenRequestsFrom(p: { askerId: ParticipantId }): Promise<Request[]>;
  listOpenRequestsBetween(p: { askerId: ParticipantId; recipientId: ParticipantId }): Promise<Request[]>;
  listOverdueRequests(p: { now: number; limit: number }): Promise<Request[]>;
  getNextDeadline(): Promise<number | null>;
  /** Its answer waits for one more person: its deadline stands still. */
  holdDeadline(p: { id: MessageId; at: number }): Promise<void>;
  /** It waits for one person less; with none left, its deadline moves by the time it stood still. */
  releaseDeadline(p: { id: MessageId; at: number }): Promise<void>;
}

export interface Broadcasts {
  insertBroadcast(broadcast: Omit<Broadcast, 'closedAt'>): Promise<void>;
  getBroadcast(p: { id: MessageId }): Promise<Broadcast | null>;
  /** Compare and set: null if it was closed before. */
  tryCloseBroadcast(p: { id: MessageId; at: number }): Promise<Broadcast | null>;
  /** Open ones that reached the agent. */
  listOpenBroadcastsTo(p: { agentId: AgentId }): Promise<Broadcast[]>;
  listDueBroadcasts(p: { now: number }): Promise<Broadcast[]>;
  getNextBroadcastEnd(): Promise<number | null>;
  listRespondents(p: { id: MessageId }): Promise<view.Respondent[]>;
  releaseReplies(p: { id: MessageId; agentId: AgentId; round: Round }): Promise<number>;
  /** Whether a run wrote in a channel. */
  hasSpoken(p: { runId: RunId; channelId: ChannelId }): Promise<boolean>;
}

/** The places of agents in the rounds of channels: who has still to see what people said, in which order. */
export interface Rounds {
  getPlace(p: view.PlaceKey): Promise<view.Place | null>;
  /** In order. */
  listPlaces(p: { channelId: ChannelId; now: number }): Promise<view.PlaceView[]>;
  listPlacesOf(p: { agentId: AgentId }): Promise<view.Place[]>;
  /** Released before a time and still not done. */
  listStalePlaces(p: { before: number }): Promise<view.Place[]>;
  /** Channels where an agent could begin and nobody's turn is under way. */
  listStalledRounds(p: { now: number }): Promise<{ readonly channelId: ChannelId }[]>;
  /** When the oldest released place was released. */
  getOldestRelease(): Promise<number | null>;
  /** When the next resting agent that has a place may run. */
  getNextRested(p: { now: number }): Promise<number | null>;
  /** At the end, also if it had a place. */
  queuePlace(p: view.PlaceKey): Promise<void>;
  /** It is the agent's turn: what was held for it may be carried. */
  releasePlace(p: view.PlaceKey & { now: number }): Promise<void>;
  /** The next agent no longer waits for it. */
  tryPassPlace(p: view.PlaceKey): Promise<boolean>;
  tryDeletePlace(p: view.PlaceKey): Promise<boolean>;
  /** What the agent still has of the round: what it carries, may carry, or what is held for it. */
  leftInPlace(p: view.PlaceKey): Promise<'carried' | 'open' | 'held' | null>;
}

export interface Runs extends UsageQueries, ReopeningQueries {
  /** Creates a run if the agent has something to do and no run of it is created or running (`hasWork` in eligibility.ts). */
  wakeAgent(p: { agentId: AgentId; now: number }): Promise<void>;
  /** Agents of a node that have work and no run, although the write that gave it to them should have woken them. */
  listSleepers(p: { nodeId: NodeId }): Promise<{ readonly id: AgentId }[]>;
  wakeAllAgents(p: { nodeId: NodeId; now: number }): Promise<void>;
  /** The tree of the run that would be claimed next; null if there is none. */
  getNextTree(p: view.ClaimFilter & view.Claimant): Promise<AgentId | null>;
  /** The next run in turn: the tree with the fewest running, then the one that waited longest. */
  claimRun(p: view.ClaimFilter & view.Claimant & { leaseMs: number }): Promise<Run | null>;
  /** The open-ended run of an external agent: no slot, no lease. */
  insertOpenRun(p: view.NewOpenRun): Promise<Run>;
  getRun(p: { id: RunId }): Promise<Run | null>;
  /** The run of an agent that is created or running. */
  getLiveRun(p: { agentId: AgentId }): Promise<Run | null>;
  /** How many runs of an agent have served a request. */
  countServing(p: { agentId: AgentId; serves: MessageId }): Promise<number>;
  /** The run if the attempt still holds it; throws `fenced` otherwise. Every write of an attempt calls it. */
  holdRun(hold: view.RunHold): Promise<Run>;
  /** Newest first, older than the cursor. */
  listRuns(
    p: view.RunFilter & { before: view.RunCursor | null; limit: number },
  ): Promise<(Run & { readonly handle: string })[]>;
  /** Completed runs of an agent after a number and before another (none: the end), newest first. */
  listCompleted(p: { agentId: AgentId; after: number; before?: number; limit: number }): Promise<Run[]>;
  /** The same: how their final texts begin. */
  listPast(p: {
    agentId: AgentId;
    after: number;
    limit: number;
    longest: number;
  }): Promise<Pick<Run, 'id' | 'finalText'>[]>;
  listRunning(p: { nodeId: NodeId }): Promise<Run[]>;
  /** Running with a lease, on any node. */
  listLeased(): Promise<Run[]>;
  /** When the next run that is put off may start. */
  getNextStart(p: { nodeId: NodeId; now: number }): Promise<number | null>;
  setRunStart(p: Pick<Run, 'id' | 'serves' | 'triggerId' | 'chainDepth' | 'payerId'>): Promise<void>;
  setRunProcess(p: { id: RunId; pid: number; startedAt: string }): Promise<void>;
  /** Ends a run for good and raises its fence. Throws `fenced` if another claim or end came first. */
  endRun(p: view.RunSeen & view.RunEnd): Promise<void>;
  /** Ends an attempt: the run waits for the next one. Throws as `endRun` does. */
  retryRun(p: view.RunSeen & view.RunRetry): Promise<void>;
  setDeaths(p: { id: RunId; deaths: number; deathsEver: number; records: number }): Promise<void>;
  clearDeaths(p: { nodeId: NodeId }): Promise<number>;
  renewLeases(p: view.LeaseHolder & { runIds: readonly RunId[]; leaseUntil: number }): Promise<view.RunSeen[]>;
  /** The agent's rest ends, and its next attempt may begin. */
  endWaits(p: { agentId: AgentId }): Promise<void>;
  /** The clock was set back: what waits on the node waits as long as before. */
  shiftWaits(p: { nodeId: NodeId; by: number; now: number }): Promise<void>;
}

/** What runs did, entry by entry. */
export interface Records {
  insertRecord(record: NewRunRecord): Promise<void>;
  /** In order. */
  listRecords(p: { runId: RunId }): Promise<RunRecord[]>;
  listRecordsAfter(p: { runId: RunId; after: number; limit: number }): Promise<RunRecord[]>;
  /** Of all runs of an agent, newest first. */
  listRecentRecords(p: { agentId: AgentId; limit: number }): Promise<RunRecord[]>;
  getLastRecord(p: { runId: RunId }): Promise<RunRecord | null>;
  /** The call that a return belongs to. */
  getCall(p: { runId: RunId; callId: string }): Promise<RunRecord | null>;
  /** In order: the k-th identical call of a later attempt gets the k-th of these. */
  listEffects(p: { runId: RunId; callKey: string }): Promise<Pick<RunRecord, 'content'>[]>;
  /** Calls of earlier attempts whose start was recorded, in order, with their result: null where none was. */
  listStarts(p: view.CallKey): Promise<{ readonly content: unknown; readonly isError: boolean | null }[]>;
  /** Identical calls of an attempt, repeated ones included; a call that failed outright does not count. */
  countCalls(p: view.CallKey): Promise<number>;
  countRecords(p: { runId: RunId; attempt: number }): Promise<number>;
  /** Successful calls of a tool. */
  countReturns(p: { runId: RunId; tool: string }): Promise<number>;
}

export interface Events {
  /** Its number follows the last one's, without gaps, in the order of commits. */
  appendEvent(event: NewEvent): Promise<void>;
  /** The number of the last event, also after it was pruned. */
  getEventCounter(): Promise<number>;
  /** The number of the oldest event that is kept. */
  getOldestEvent(): Promise<number | null>;
  listEvents(p: { after: number; limit: number }): Promise<StoredEvent[]>;
}

export interface Workspaces {
  insertWorkspace(workspace: Workspace): Promise<void>;
  getWorkspace(p: { id: WorkspaceId }): Promise<view.WorkspaceView | null>;
  getWorkspaceNamed(p: { nameKey: string }): Promise<view.WorkspaceView | null>;
  /** The workspace whose own directory it is; views show another's. */
  getWorkspaceAt(p: { nodeId: NodeId; path: string }): Promise<Workspace | null>;
  /** By name. */
  listWorkspaces(p: { after: string; limit: number }): Promise<view.WorkspaceView[]>;
  listWorkspacesOf(p: { ownerId: ParticipantId }): Promise<view.WorkspaceView[]>;
  listViewsOf(p: { id: WorkspaceId }): Promise<Workspace[]>;
  listDeletedWorkspaces(p: { nodeId: NodeId }): Promise<Workspace[]>;
  /** Every directory of a node that agents may write to. */
  listWorkspacePaths(p: { nodeId: NodeId }): Promise<Pick<Workspace, 'id' | 'path'>[]>;
  /** Directories that Substrat made in the node's home, by path. */
  listMadeWorkspaces(p: { nodeId: NodeId }): Promise<Pick<Workspace, 'id' | 'path'>[]>;
  /** Agents that work in it, terminated ones included, oldest first. */
  listInhabitants(p: { workspaceId: WorkspaceId }): Promise<Pick<Agent, 'id' | 'handle' | 'terminatedAt'>[]>;
  /** Frees its name and removes its links; `tryRemoveWorkspace` follows when its directory is gone. */
  deleteWorkspace(p: { id: WorkspaceId; at: number }): Promise<void>;
  /** The same directory is another node's now. */
  moveWorkspace(p: { id: WorkspaceId; nodeId: NodeId }): Promise<void>;
  reviveWorkspace(p: { id: WorkspaceId; ownerId: ParticipantId; name: string; nameKey: string }): Promise<void>;
  tryRemoveWorkspace(p: { id: WorkspaceId }): Promise<boolean>;
  /** A directory of this node moved: every path in it follows. */
  moveDirectory(p: { nodeId: NodeId; from: string; to: string }): Promise<void>;
  insertLink(link: Link): Promise<void>;
  tryDeleteLink(p: { workspaceId: WorkspaceId; target: string }): Promise<boolean>;
  listLinks(p: { workspaceId: WorkspaceId }): Promise<Link[]>;
  /** Of all workspaces of a node, with the name of each. */
  listLinksOn(p: { nodeId: NodeId }): Promise<(Link & { readonly workspace: string })[]>;
}

/** Tokens are stored as hashes. */
export interface Tokens {
  insertToken(token: view.NewToken): Promise<void>;
  /** The participant of a token that is not revoked and has not expired at that time. */
  getTokenOwner(p: { hash: string; at: number }): Promise<view.TokenOwner | null>;
  /** By creation. */
  listTokens(): Promise<view.TokenView[]>;
  tryRevokeToken(p: { id: TokenId; at: number }): Promise<boolean>;
  /** Only of a token that is not revoked. */
  tryExtendToken(p: { id: TokenId; expiresAt: number }): Promise<boolean>;
}

/** Responses to requests with an Idempotency-Key, stored with their effect. */
export interface Idempotency {
  getResponse(p: { participantId: ParticipantId; key: string }): Promise<view.KeptResponse | null>;
  insertResponse(response: view.KeptResponse): Promise<void>;
}

/** Removes what is old, a short step at a time. What somebody still waits for stays. */
export interface Retention {
  /** From the oldest up to the first that is young enough. */
  pruneEvents(p: { before: number; limit: number }): Promise<number>;
  pruneResponses(p: { before: number; limit: number }): Promise<number>;
  pruneRecords(step: view.PruneStep<view.RunCursor>): Promise<view.Pruned<view.RunCursor>>;
  /** Ended runs whose records are gone. */
  pruneRuns(step: view.PruneStep<view.RunCursor>): Promise<view.Pruned<view.RunCursor>>;
  pruneMessages(step: view.PruneStep<number>): Promise<view.Pruned<number>>;
  /** Earlier versions of blocks. */
  pruneHistory(step: view.PruneStep<view.ChangePlace>): Promise<view.Pruned<view.ChangePlace>>;
}
