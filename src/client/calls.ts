import type { z } from 'zod';
import { USER_ID } from '../core/agent.ts';
import type {
  KnowledgeDocument,
  KnowledgeSource,
  SearchAnswer,
  SearchRequest,
  SearchResult,
} from '../core/knowledge.ts';
import type { LiveEvent } from '../core/live.ts';
import type { PersonaInfo, PersonaPrompt } from '../core/persona.ts';
import type * as settings from '../http/agent-settings.ts';
import type * as applying from '../http/apply-schemas.ts';
import type { ShownEvent } from '../http/events.ts';
import type * as schemas from '../http/schemas.ts';

export type { KnowledgeDocument, KnowledgeSource, PersonaInfo, PersonaPrompt, SearchResult };
export type SubstratEvent = ShownEvent;
export type { LiveEvent };
export type Agent = z.infer<typeof schemas.Agent>;
export type AgentProfile = z.infer<typeof schemas.AgentProfile>;
export type AgentCreation = z.input<typeof schemas.AgentCreation>;
export type Question = z.infer<typeof schemas.Question>;
export type ApplyItem = z.infer<typeof applying.ApplyItem>;
export type AgentSettings = z.input<typeof settings.AgentSettings>;
export type ChangedAgent = z.infer<typeof settings.ChangedAgent>;
export type SettingsRevision = z.infer<typeof settings.SettingsRevision>;
export type Message = z.infer<typeof schemas.Message>;
export type MessageCreation = z.input<typeof schemas.MessageCreation>;
export type AttachedFile = Message['attachments'][number] & { readonly data: string };
export type ChannelPost = z.input<typeof schemas.ChannelPost>;
export type Sent = z.infer<typeof schemas.Sent>;
export type Run = z.infer<typeof schemas.Run>;
export type RunMessage = z.infer<typeof schemas.RunMessage>;
export type CarriedMessage = z.infer<typeof schemas.CarriedMessage>;
export type RunStep = z.infer<typeof schemas.RunStep>;
export type Evidence = z.infer<typeof schemas.Evidence>;
export type AttemptUsage = z.infer<typeof schemas.AttemptUsage>;
export type FailedAttempt = z.infer<typeof schemas.FailedAttempt>;
/** A run with what it did. */
export interface RunDetail extends Run {
  readonly usageByAttempt: AttemptUsage[];
  /** Why each attempt failed that another one followed. */
  readonly failedAttempts: FailedAttempt[];
  readonly evidence: Evidence[];
  readonly steps: RunStep[];
  readonly messages: RunMessage[];
}
export type Provider = z.infer<typeof schemas.Provider>;
export type Budget = z.infer<typeof schemas.Budget>;
export type BudgetSetting = z.input<typeof schemas.BudgetSetting>;
export type Usage = z.infer<typeof schemas.Usage>;
export type Channel = z.infer<typeof schemas.Channel>;
export type Member = z.infer<typeof schemas.Member>;
export type Participant = z.infer<typeof schemas.Participant>;
export type Token = z.infer<typeof schemas.Token>;
export type Workspace = z.infer<typeof schemas.Workspace>;
export type WorkspaceCreation = z.input<typeof schemas.WorkspaceCreation>;
export type AgentFile = z.infer<typeof schemas.AgentFile>;
export type AgentDiff = z.infer<typeof schemas.AgentDiff>;
export type Link = z.infer<typeof schemas.Link>;
export type LinkCreation = z.input<typeof schemas.LinkCreation>;
export type Block = z.infer<typeof schemas.Block>;
export type BlockChange = z.infer<typeof schemas.BlockChange>;
export type Passage = z.infer<typeof schemas.Passage>;
export type Prompt = z.infer<typeof schemas.Prompt>;
export type Caller = z.infer<typeof schemas.Caller>;
export type Status = z.infer<typeof schemas.Status>;
export type SentMessage = z.infer<typeof schemas.SentMessage>;
export type Trace = z.infer<typeof schemas.Trace>;
export type Finding = z.infer<typeof schemas.Findings>['findings'][number];
export type LogEntry = z.infer<typeof schemas.LogEntry>;
export type Report = z.infer<typeof schemas.Report>;

/** An `mcp.json` with the server of one agent. */
export interface McpFile {
  readonly mcpServers: {
    readonly substrat: {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };
  };
}

/** One who waits for another. */
export interface OpenRequest {
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly createdAt: string;
  readonly deadlineAt: string | null;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface PageQuery {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** With a key, a post is idempotent. */
export interface PostOptions {
  readonly idempotencyKey?: string;
}

/** Change the block only if it has this version; 0: only if it does not exist. */
export interface BlockCondition {
  readonly ifVersion?: number | undefined;
}

export interface Said {
  readonly messageId: string | null;
  readonly channelId: string | null;
  readonly runId: string | null;
  readonly from: string;
  readonly text: string;
  readonly createdAt: string;
}

export interface PassageQuery extends PageQuery {
  /** The search query. */
  readonly q?: string | undefined;
  readonly tag?: string | undefined;
  /** Times, or days in UTC. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface EventQuery {
  /** Resume after this sequence number; -n: with the last n events; default: from now. */
  readonly after?: number;
  readonly agent?: string;
  readonly channel?: string;
  readonly types?: readonly string[];
  readonly signal?: AbortSignal;
}

/** How requests reach the daemon: over Node's sockets, or a browser's `fetch`. */
export interface Transport {
  readonly exchange: Exchange;
  follow(
    path: string,
    after: number | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<SubstratEvent | LiveEvent>;
}

/** One request, one JSON response. */
export type Exchange = <T>(method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<T>;

export type Client = ReturnType<typeof createCalls>;

/** Every call of the API, over any transport. */
export function createCalls({ exchange, follow }: Transport) {
  const get = <T>(path: string, query: object = {}) => exchange<T>('GET', path + queryString(query));
  const post = <T>(path: string, body?: object, { idempotencyKey }: PostOptions = {}) =>
    exchange<T>('POST', path, body, idempotencyKey ? { 'idempotency-key': idempotencyKey } : {});
  const agent = (ref: string) => `/api/agents/${encodeURIComponent(ref)}`;
  /** `user` has its own blocks. */
  const memory = (ref: string) => (ref.toLowerCase() === USER_ID ? '/api/memory' : `${agent(ref)}/memory`);
  const block = (ref: string, label: string) => `${memory(ref)}/${encodeURIComponent(label)}`;
  const question = (id: string) => `/api/questions/${encodeURIComponent(id)}`;
  const run = (id: string) => `/api/runs/${encodeURIComponent(id)}`;
  const message = (id: string) => `/api/messages/${encodeURIComponent(id)}`;
  const channel = (id: string) => `/api/channels/${encodeURIComponent(id)}`;

  const node = (ref: string) => `/api/nodes/${encodeURIComponent(ref)}`;
  const workspace = (ref: string) => `/api/workspaces/${encodeURIComponent(ref)}`;

  const listReplies = (messageId: string, waitSeconds = 0) =>
    get<{ state: 'open' | 'closed' | null; items: Message[] }>(`${message(messageId)}/replies`, { wait: waitSeconds });

  return {
    getStatus: () => get<Status>('/api/status'),
    /** What `substrat doctor` finds where the daemon runs. */
    examine: () => get<{ findings: Finding[] }>('/api/doctor'),
    /** Newest first; entries of that level and above. */
    listLog: (query: { level?: LogEntry['level']; q?: string | undefined; limit?: number } = {}) =>
      get<Page<LogEntry>>('/api/log', query),
    /** What ran, was asked and cost since a time, and what waits. */
    getReport: (query: { since?: string | undefined } = {}) => get<Report>('/api/report', query),

    /** Reads the configuration again and makes members and channels what it says. Returns every difference. */
    apply: (wish: z.input<typeof applying.ApplyWish> = {}) => post<{ items: ApplyItem[] }>('/api/apply', wish),

    createAgent: (creation: AgentCreation, options?: PostOptions) => post<Agent>('/api/agents', creation, options),
    getAgent: (ref: string) => get<Agent>(agent(ref)),
    /** What people other than the owner see of an agent. */
    getProfile: (ref: string) => get<AgentProfile>(agent(ref)),
    listAgents: (query: PageQuery & { all?: boolean } = {}) => get<Page<Agent>>('/api/agents', query),
    /** Only of a terminated agent. Its descendants, messages, runs and memory go with it. */
    deleteAgent: (ref: string) =>
      exchange<{ status: 'deleted'; agentId: string; agents: string[]; messages: number; runs: number }>(
        'DELETE',
        agent(ref),
      ),
    terminateAgent: (ref: string) => post<{ status: 'terminated'; agentId: string }>(`${agent(ref)}/terminate`),
    /**
     * Changes settings; what is left out stays. They apply from the next turn; `now` starts the turn in progress again.
     * With `ifRevision`, only if the settings have that revision.
     */
    changeAgent: (ref: string, change: AgentSettings, options: { ifRevision?: number; now?: boolean } = {}) =>
      exchange<ChangedAgent>(
        'PATCH',
        agent(ref) + queryString({ now: options.now }),
        change,
        options.ifRevision === undefined ? {} : { 'if-match': `"${options.ifRevision}"` },
      ),
    renameAgent: (ref: string, name: string) => exchange<ChangedAgent>('PATCH', agent(ref), { name }),
    /** Newest first. */
    listSettings: (ref: string, query: PageQuery = {}) => get<Page<SettingsRevision>>(`${agent(ref)}/settings`, query),
    /** It starts no turn until it is resumed; `now` ends the attempt in progress. */
    pauseAgent: (ref: string, wish: { reason?: string; now?: boolean } = {}) =>
      post<Agent>(`${agent(ref)}/pause`, wish),
    /** Lets a paused agent continue. */
    resumeAgent: (ref: string) => post<Agent>(`${agent(ref)}/resume`),
    /** Without its workspace, it leaves files and session behind. */
    moveAgent: (ref: string, wish: { node: string; withoutWorkspace?: boolean }) =>
      post<Agent>(`${agent(ref)}/move`, wish),
    getMcpConfig: (ref: string) => get<{ agentId: string; path: string; config: McpFile }>(`${agent(ref)}/mcp`),

    /** A directory of the agent's workspace, or a page of a file in it. Credential files and `.git` are hidden. */
    getFile: (ref: string, path = '', offset = 0) => get<AgentFile>(`${agent(ref)}/files`, { path, offset }),
    /** What the agent has changed in its git workspace. */
    getDiff: (ref: string) => get<AgentDiff>(`${agent(ref)}/diff`),

    getPrompt: (ref: string) => get<Prompt>(`${agent(ref)}/prompt`),

    listBlocks: (ref: string) => get<Page<Block>>(memory(ref)),
    getBlock: (ref: string, label: string) => get<Block>(block(ref, label)),
    setBlock: (ref: string, label: string, text: string, condition?: BlockCondition) =>
      exchange<Block>('PUT', block(ref, label), { text }, conditionHeaders(condition)),
    deleteBlock: (ref: string, label: string, condition?: BlockCondition) =>
      exchange<{ status: 'deleted'; label: string }>(
        'DELETE',
        block(ref, label),
        undefined,
        conditionHeaders(condition),
      ),
    listBlockChanges: (ref: string, label: string, query: PageQuery = {}) =>
      get<Page<BlockChange>>(`${block(ref, label)}/history`, query),
    restoreBlock: (ref: string, label: string, version: number, condition?: BlockCondition) =>
      exchange<Block>('POST', `${block(ref, label)}/restore`, { version }, conditionHeaders(condition)),
    /** Those agents see it too, and may change it if it is open. */
    shareBlock: (ref: string, label: string, sharing: { with: readonly string[]; open?: boolean }) =>
      exchange<Block>('PUT', `${block(ref, label)}/sharing`, sharing),

    listPassages: (ref: string, query: PassageQuery = {}) => get<Page<Passage>>(`${agent(ref)}/passages`, query),
    /** What was said in the agent's channels and DMs, and its runs' final texts. */
    searchMessages: (ref: string, query: { q: string; limit?: number; since?: string; until?: string }) =>
      get<Page<Said>>(`${agent(ref)}/said`, query),
    storePassage: (ref: string, passage: { content: string; tags?: readonly string[] }, options?: PostOptions) =>
      post<{ passageId: string }>(`${agent(ref)}/passages`, passage, options),
    deletePassage: (ref: string, id: string) =>
      exchange<{ status: 'deleted'; id: string }>('DELETE', `${agent(ref)}/passages/${encodeURIComponent(id)}`),

    /** `answered` is the agent's question that this message answered; `inReplyTo: null` always asks a new question. */
    sendMessage: (ref: string, message: MessageCreation, options?: PostOptions) =>
      post<Sent>(`${agent(ref)}/messages`, message, options),
    listMessages: (ref: string, query: PageQuery = {}) => get<Page<Message>>(`${agent(ref)}/messages`, query),
    /** A file that a message carries; positions count from 0. */
    getAttachment: (id: string, position: number) => get<AttachedFile>(`${message(id)}/attachments/${position}`),
    getMessage: (id: string) => get<Message>(message(id)),
    listReplies,
    /** The reply that closed the request; null if none arrives in time. */
    awaitReply: async (messageId: string, waitSeconds: number): Promise<Message | null> => {
      const { items, state } = await listReplies(messageId, waitSeconds);
      return state === 'closed' ? (items.find((reply) => !reply.late) ?? null) : null;
    },
    listInbox: (query: PageQuery & { open?: boolean } = {}) => get<Page<Message>>('/api/inbox', query),

    /** Open ones only, unless `open` is false. */
    listQuestions: (query: PageQuery & { open?: boolean } = {}) => get<Page<Question>>('/api/questions', query),
    getQuestion: (id: string) => get<Question>(question(id)),
    answerQuestion: (id: string, text: string, options?: PostOptions) =>
      post<Question>(`${question(id)}/answer`, { text }, options),
    /** Permits one call; with `arguments`, a call with these instead. */
    approveQuestion: (id: string, wish: z.input<typeof schemas.QuestionApproval> = {}, options?: PostOptions) =>
      post<Question>(`${question(id)}/approve`, wish, options),
    rejectQuestion: (id: string, text?: string, options?: PostOptions) =>
      post<Question>(`${question(id)}/reject`, text === undefined ? {} : { text }, options),
    /** Who waits for whom, oldest first. */
    listRequests: (query: PageQuery = {}) => get<Page<OpenRequest>>('/api/requests', query),
    listRuns: (query: PageQuery & { agent?: string | undefined; state?: Run['state'] | undefined } = {}) =>
      get<Page<Run>>('/api/runs', query),
    getRun: (id: string) => get<RunDetail>(run(id)),
    /** The messages that a run was given, and what became of each. */
    listCarried: (id: string) => get<Page<CarriedMessage>>(`${run(id)}/carried`),
    /** The messages that a run sent. */
    listSent: (id: string) => get<Page<SentMessage>>(`${run(id)}/sent`),
    /** Everything that the message that began a run led to, through all agents. */
    getTrace: (id: string) => get<Trace>(`${run(id)}/trace`),
    /** Totals by agent, tree or day. */
    listUsage: (
      query: { by?: 'agent' | 'tree' | 'day'; since?: string | undefined; until?: string | undefined } = {},
    ) => get<Page<Usage>>('/api/usage', query),
    restartRun: (id: string) => post<{ status: 'restarted'; runId: string }>(`${run(id)}/restart`),
    extendRun: (id: string, minutes?: number) =>
      post<{ status: 'extended'; runId: string; until: string }>(`${run(id)}/extend`, { minutes }),
    cancelRun: (id: string) => post<{ status: 'cancelled'; runId: string }>(`${run(id)}/cancel`),

    listChannels: (query: PageQuery = {}) => get<Page<Channel>>('/api/channels', query),
    getChannel: (id: string) => get<Channel>(channel(id)),
    createChannel: (creation: z.input<typeof schemas.ChannelCreation>, options?: PostOptions) =>
      post<Channel>('/api/channels', creation, options),
    /** Not of DMs and team channels, which go with their agents. */
    deleteChannel: (id: string) =>
      exchange<{ status: 'deleted'; channelId: string; messages: number }>('DELETE', channel(id)),
    setTopic: (id: string, topic: string) => exchange<Channel>('PATCH', channel(id), { topic }),
    /** Newest first; of one thread or of all. */
    listChannelMessages: (id: string, query: PageQuery & { thread?: string | undefined } = {}) =>
      get<Page<Message>>(`${channel(id)}/messages`, query),
    /** `dm-x-y` creates the DM if it does not exist. */
    postMessage: (id: string, words: ChannelPost, options?: PostOptions) =>
      post<Sent>(`${channel(id)}/messages`, words, options),
    /** Your messages that agents have not received yet, oldest first: they can still be edited or deleted. */
    listQueued: (id: string) => get<Page<Message & { to: string[] }>>(`${channel(id)}/queued`),
    /** What was said in the channels that you see, best first. `complete`: everything was read. */
    findMessages: (query: { q: string; channel?: string; limit?: number; since?: string; until?: string }) =>
      get<Page<Said> & { complete: boolean }>('/api/messages', query),
    markRead: (id: string) => post<Channel>(`${channel(id)}/read`),
    listMembers: (id: string) => get<Page<Member>>(`${channel(id)}/members`),
    addMember: (id: string, member: { participant: string; wake?: Member['wake'] & string }) =>
      post<Page<Member>>(`${channel(id)}/members`, member),
    setWake: (id: string, participant: string, wake: Member['wake'] & string) =>
      exchange<Page<Member>>('PATCH', `${channel(id)}/members/${encodeURIComponent(participant)}`, { wake }),
    removeMember: (id: string, participant: string) =>
      exchange<{ status: 'left' }>('DELETE', `${channel(id)}/members/${encodeURIComponent(participant)}`),

    editMessage: (id: string, text: string) => exchange<Message>('PATCH', message(id), { text }),
    deleteMessage: (id: string) => exchange<{ status: 'deleted'; messageId: string }>('DELETE', message(id)),
    react: (id: string, emoji: string) => post<Message>(`${message(id)}/reactions`, { emoji }),
    unreact: (id: string, emoji: string) =>
      exchange<Message>('DELETE', `${message(id)}/reactions/${encodeURIComponent(emoji)}`),
    listParticipants: (query: PageQuery = {}) => get<Page<Participant>>('/api/participants', query),

    listBudgets: () => get<Page<Budget>>('/api/budgets'),
    setBudget: (wish: BudgetSetting) => exchange<Budget>('PUT', '/api/budgets', wish),
    removeBudget: (id: string) =>
      exchange<{ status: 'removed'; id: string }>('DELETE', `/api/budgets/${encodeURIComponent(id)}`),
    listTokens: () => get<Page<Token>>('/api/tokens'),
    createToken: (wish: { as: string; label?: string }) => post<Token & { token: string }>('/api/tokens', wish),
    revokeToken: (id: string) => exchange<{ status: 'revoked' }>('DELETE', `/api/tokens/${encodeURIComponent(id)}`),

    searchKnowledge: async (request: SearchRequest) =>
      (await post<{ result: SearchAnswer }>('/tools/search', request)).result,
    getDocument: async (id: string) => (await post<{ result: KnowledgeDocument }>('/tools/get', { id })).result,
    listSources: async () => (await get<{ result: { sources: readonly KnowledgeSource[] } }>('/tools/sources')).result,
    listPersonas: () => get<{ agents: readonly PersonaInfo[] }>('/agents/list'),
    resolvePersona: (name: string, args: Readonly<Record<string, string>>) =>
      post<{ result: PersonaPrompt }>(`/agents/${encodeURIComponent(name)}/prompt`, { arguments: args }),

    /** A link that signs one browser in, within 2 minutes. */
    createLink: (wish: { as?: string } = {}) => post<z.infer<typeof schemas.NewLink>>('/api/links', wish),
    signIn: (wish: { code: string; label?: string }) => post<z.infer<typeof schemas.PageToken>>('/api/sign-in', wish),
    /** Begins to pair a phone: it signs in as you if you confirm it within a minute. */
    startPairing: () => post<{ id: string; url: string; expiresAt: string }>('/api/pairings'),
    getPairing: (id: string) =>
      get<{ state: 'open' | 'claimed'; label: string | null; check: string | null }>(`/api/pairings/${id}`),
    confirmPairing: (id: string) => post<{ status: 'confirmed' }>(`/api/pairings/${id}/confirm`),
    cancelPairing: (id: string) => exchange<{ status: 'cancelled' }>('DELETE', `/api/pairings/${id}`),
    claimPairing: (wish: { code: string; label?: string }) =>
      post<{ claim: string; check: string; expiresAt: string }>('/api/pairings/claim', wish),
    redeemPairing: (claim: string) =>
      post<{ status: 'waiting' | 'confirmed'; token: z.infer<typeof schemas.PageToken> | null }>(
        '/api/pairings/redeem',
        { claim },
      ),
    signOut: () => post<{ status: 'signed_out' }>('/api/sign-out'),
    getMe: () => get<Caller>('/api/me'),

    listProviders: () => get<Page<Provider>>('/api/providers'),
    listNodes: () => get<Page<z.infer<typeof schemas.Node>>>('/api/nodes'),
    getNode: (ref: string) => get<z.infer<typeof schemas.Node>>(node(ref)),
    /** It finishes its runs and starts nothing new. */
    drainNode: (ref: string) => post<z.infer<typeof schemas.Node>>(`${node(ref)}/drain`),
    undrainNode: (ref: string) => post<z.infer<typeof schemas.Node>>(`${node(ref)}/undrain`),
    removeNode: (ref: string) => exchange<{ status: 'removed'; id: string }>('DELETE', node(ref)),
    /** Takes over the agents of a node that is gone. */
    adoptNode: (id: string, wish: { force?: boolean } = {}) =>
      post<{ status: 'adopted'; id: string; agents: number; workspaces: number }>(`${node(id)}/adopt`, wish),

    createWorkspace: (creation: WorkspaceCreation, options?: PostOptions) =>
      post<Workspace>('/api/workspaces', creation, options),
    getWorkspace: (ref: string) => get<Workspace>(workspace(ref)),
    listWorkspaces: (query: PageQuery = {}) => get<Page<Workspace>>('/api/workspaces', query),
    deleteWorkspace: (ref: string) => exchange<{ status: 'deleted'; id: string }>('DELETE', workspace(ref)),
    linkDirectory: (ref: string, link: LinkCreation, options?: PostOptions) =>
      post<Link>(`${workspace(ref)}/links`, link, options),
    unlinkDirectory: (ref: string, target: string) =>
      exchange<{ status: 'unlinked' }>('DELETE', `${workspace(ref)}/links${queryString({ target })}`),

    /**
     * Yields what turns do at this moment: pieces of text and tool calls, which are not stored. Pieces may be missing.
     * Reconnects after a lost connection.
     */
    followLive: async function* (query: { agent?: string; signal?: AbortSignal } = {}): AsyncGenerator<LiveEvent> {
      const path = `/api/events${queryString({ agent: query.agent, type: 'none', live: 'true' })}`;
      for await (const event of follow(path, undefined, query.signal)) if (isLive(event)) yield event;
    },
    /** Yields every event once, in order; reconnects and resumes after a lost connection. */
    followEvents: async function* (query: EventQuery = {}): AsyncGenerator<SubstratEvent> {
      const { agent: ref, channel: channelId, types } = query;
      const path = `/api/events${queryString({ agent: ref, channel: channelId, type: types?.join(',') })}`;
      for await (const event of follow(path, query.after, query.signal)) if (!isLive(event)) yield event;
    },
  };
}

function isLive(event: SubstratEvent | LiveEvent): event is LiveEvent {
  return !('seq' in event);
}

/** Yields all items of a paginated list. */
export async function* allPages<T>(list: (query: PageQuery) => Promise<Page<T>>, limit = 500): AsyncGenerator<T> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<T> = await list({ cursor: cursor ?? undefined, limit });
    yield* page.items;
    cursor = page.nextCursor;
  }
}

function conditionHeaders({ ifVersion }: BlockCondition = {}): Record<string, string> {
  if (ifVersion === undefined) return {};
  return ifVersion === 0 ? { 'if-none-match': '*' } : { 'if-match': `"${ifVersion}"` };
}

function queryString(query: object): string {
  const given = Object.entries(query).filter((entry: [string, unknown]) => entry[1] !== undefined);
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([key, value]: [string, unknown]): [string, string] => [key, String(value)]))}`;
}
