import { agentState } from '../core/agent.ts';
import { tally } from '../messaging/reactions.ts';
import type {
  AgentView,
  BlockChangeRow,
  BlockView,
  ChannelView,
  MemberView,
  MessageView,
  PassageRow,
  ReactionView,
  RunMessageRow,
  RunRow,
  Tx,
} from '../store/store.ts';

/** Rows as the API shows them. */

export function showAgent(view: AgentView) {
  return {
    id: view.id,
    name: view.name,
    handle: view.handle,
    role: view.role,
    state: agentState(view),
    parentId: view.parent_id,
    provider: view.provider,
    model: view.model,
    program: view.program,
    workspace: view.workspace,
    instructions: view.instructions,
    tools: view.tools === null ? null : (JSON.parse(view.tools) as string[]),
    persona: view.persona,
    arguments: JSON.parse(view.persona_args ?? '{}') as Record<string, string>,
    pending: view.pending,
    paused: view.paused_at === null ? null : { at: showTime(view.paused_at), reason: view.paused_reason ?? '' },
    createdAt: showTime(view.created_at),
  };
}

/** What people other than the owner see: neither what it was told nor where and how it runs. */
export function showProfile(view: AgentView, shared: readonly { readonly channel_id: string }[]) {
  const channels = shared.map(({ channel_id }) => channel_id);
  return { name: view.name, handle: view.handle, role: view.role, state: agentState(view), channels };
}

/** With what others thought of them. */
export async function showMessages(tx: Tx, views: readonly MessageView[]) {
  const reactions = await tx.listReactions({ messageIds: views.map(({ id }) => id) });
  return views.map((view) => showMessage(view, reactions));
}

function showMessage(view: MessageView, reactions: readonly ReactionView[]) {
  return {
    messageId: view.id,
    channelId: view.channel_id,
    from: view.handle,
    text: view.text,
    kind: view.kind,
    inReplyTo: view.in_reply_to,
    late: view.late === 1,
    request: view.request_state,
    parentMessageId: view.thread_id,
    reactions: tally(reactions.filter(({ message_id }) => message_id === view.id)),
    createdAt: showTime(view.created_at),
    editedAt: view.edited_at === null ? null : showTime(view.edited_at),
    deletedAt: view.deleted_at === null ? null : showTime(view.deleted_at),
  };
}

export function showSent({ messageId, answered }: { readonly messageId: string; readonly answered: string | null }) {
  return answered === null ? { messageId } : { messageId, answered };
}

export function showRun(run: RunRow & { readonly handle: string }) {
  return {
    id: run.id,
    agentId: run.agent_id,
    agent: run.handle,
    state: run.state,
    attempt: run.attempt,
    serves: run.serves,
    triggerId: run.trigger_id,
    chainDepth: run.chain_depth,
    stopReason: run.stop_reason,
    error: run.error,
    finalText: run.final_text,
    usage: { inputTokens: run.input_tokens, outputTokens: run.output_tokens, costUsd: run.cost_usd },
    createdAt: showTime(run.created_at),
    startedAt: run.started_at === null ? null : showTime(run.started_at),
    endedAt: run.ended_at === null ? null : showTime(run.ended_at),
  };
}

/** A step is what the model does between two looks at what its tools answered. */
export function showSteps(records: readonly RunMessageRow[]) {
  const steps = Map.groupBy(records, ({ attempt, step }) => `${attempt} ${step}`);
  return [...steps.values()].map((rows) => ({
    step: rows[0]?.step ?? 0,
    attempt: rows[0]?.attempt ?? 0,
    startedAt: showTime(rows[0]?.created_at ?? 0),
    tools: rows.filter(({ type }) => type === 'tool_call_message').map(({ tool }) => tool ?? ''),
  }));
}

export function showRunMessage(row: RunMessageRow) {
  return {
    n: row.n,
    step: row.step,
    attempt: row.attempt,
    type: row.type,
    tool: row.tool,
    callId: row.call_id,
    content: JSON.parse(row.content) as unknown,
    isError: row.is_error === 1,
    createdAt: showTime(row.created_at),
  };
}

export function showChannel(view: ChannelView) {
  return {
    id: view.id,
    kind: view.kind,
    topic: view.topic,
    member: view.read_seq !== null,
    unread: Number(view.unread),
    createdAt: showTime(view.created_at),
  };
}

export function showMember({ id, kind, handle, wake }: MemberView) {
  return { id, kind: kind as 'agent' | 'person', handle, wake: kind === 'agent' ? wake : null };
}

export function showBlock(block: BlockView, readers: readonly { readonly handle: string }[]) {
  return {
    label: block.label,
    text: block.text,
    version: block.version,
    owner: block.owner,
    sharedWith: readers.map(({ handle }) => handle),
    open: block.open === 1,
    createdAt: showTime(block.created_at),
    updatedAt: showTime(block.updated_at),
  };
}

export function showBlockChange(change: BlockChangeRow & { readonly by: string }) {
  return { version: change.version, text: change.text, by: change.by, at: showTime(change.at) };
}

export function showPassage(row: PassageRow) {
  return {
    id: row.id,
    content: row.content,
    tags: JSON.parse(row.tags) as string[],
    createdAt: showTime(row.created_at),
  };
}

export function showTime(at: number): string {
  return new Date(at).toISOString();
}
