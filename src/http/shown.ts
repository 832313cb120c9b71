import { agentState } from '../core/agent.ts';
import type { Attachment } from '../core/attachment.ts';
import type { Evidence } from '../core/evidence.ts';
import type { BlockChange, Passage } from '../core/memory.ts';
import { portabilityOf } from '../core/portable.ts';
import type { FailedAttempt, Run, RunRecord } from '../core/run.ts';
import { seatOf } from '../core/seat.ts';
import { agentStatus, showStatus } from '../core/status.ts';
import { type AttemptUsage, type Tokens, usageOf, usageOfSteps } from '../core/usage.ts';
import { tally } from '../messaging/reactions.ts';
import type {
  AgentView,
  BlockView,
  ChannelView,
  MemberView,
  MessageView,
  ReactionView,
  RevisionView,
  Tx,
} from '../store/store.ts';
import { showEvidence } from './evidence.ts';

/** Records as the API shows them. */

export function showAgent(view: AgentView, now: number) {
  return {
    id: view.id,
    name: view.name,
    handle: view.handle,
    role: view.role,
    state: agentState(view),
    parentId: view.parentId,
    provider: view.provider,
    acting: showSeat(view),
    model: view.model,
    program: view.program,
    maySpawn: view.maySpawn && [...view.maySpawn],
    fallback: view.fallback && [...view.fallback],
    workspace: view.workspace,
    node: view.nodeName ?? view.nodeId,
    instructions: view.instructions,
    tools: view.tools && [...view.tools],
    persona: view.persona,
    arguments: view.personaArgs ?? {},
    revision: view.revision,
    pending: view.pending,
    metadata: { ...view.metadata },
    status: showStatus(agentStatus(view, now)),
    portability: portabilityOf(view),
    work: showWork(view),
    paused: view.pausedAt === null ? null : { at: showTime(view.pausedAt), reason: view.pausedReason ?? '' },
    createdAt: showTime(view.createdAt),
  };
}

/** What was pushed of a git workspace. */
function showWork({ wipRemote, wipHash, wipRunId, wipSaved, wipProblem, wipLeftOut }: AgentView) {
  if (wipRemote === null) return null;
  const leftOut = [...(wipLeftOut ?? [])];
  return { commit: wipHash, runId: wipRunId, saved: wipSaved === true, problem: wipProblem, leftOut };
}

/** The id of a workspace is internal. */
export function showRevision({ revision, settings, by, at }: RevisionView) {
  const { workspaceId, personaArgs, tools, maySpawn, fallback, ...rest } = settings;
  const lists = {
    tools: tools && [...tools],
    maySpawn: maySpawn && [...maySpawn],
    fallback: fallback && [...fallback],
  };
  const shown = { ...rest, ...lists, arguments: personaArgs ?? {} };
  return { revision, by, at: showTime(at), settings: shown };
}

/** What executes its turns in place of its provider's own login; null if nothing does. */
function showSeat(view: AgentView) {
  const { provider, model, account } = seatOf(view);
  return view.actingProvider === null && account === '' ? null : { provider, model, account: account || null };
}

/** What people other than the owner see: not its instructions, and not where or how it runs. */
export function showProfile(view: AgentView, shared: readonly { readonly channelId: string }[]) {
  const channels = shared.map(({ channelId }) => channelId);
  return { name: view.name, handle: view.handle, role: view.role, state: agentState(view), channels };
}

/** Includes the reactions, the attachments and the evidence. */
export async function showMessages(tx: Tx, views: readonly MessageView[]) {
  const reactions = await tx.messages.listReactions({ messageIds: views.map(({ id }) => id) });
  const attachments = await tx.attachments.listAttachments({ messageIds: views.map(({ id }) => id) });
  const evidence = await tx.evidence.listEvidence({ messageIds: views.map(({ id }) => id) });
  return views.map((view) => showMessage(view, reactions, attachments, evidence));
}

function showMessage(
  view: MessageView,
  reactions: readonly ReactionView[],
  attached: readonly Attachment[],
  evidence: readonly Evidence[],
) {
  return {
    messageId: view.id,
    channelId: view.channelId,
    from: view.handle,
    text: view.text,
    kind: view.kind,
    inReplyTo: view.inReplyTo,
    late: view.late,
    request: view.requestState,
    parentMessageId: view.threadId,
    reactions: tally(reactions.filter(({ messageId }) => messageId === view.id)),
    attachments: attached
      .filter(({ messageId }) => messageId === view.id)
      .map(({ name, mediaType, size, hash }) => ({ name, mediaType, size, hash })),
    evidence: evidence.filter(({ messageId }) => messageId === view.id).map(showEvidence),
    createdAt: showTime(view.createdAt),
    editedAt: view.editedAt === null ? null : showTime(view.editedAt),
    deletedAt: view.deletedAt === null ? null : showTime(view.deletedAt),
  };
}

export function showSent({ messageId, answered }: { readonly messageId: string; readonly answered: string | null }) {
  return answered === null ? { messageId } : { messageId, answered };
}

export function showRun(run: Run & { readonly handle: string }) {
  return {
    id: run.id,
    agentId: run.agentId,
    agent: run.handle,
    state: run.state,
    attempt: run.attempt,
    progress: showProgress(run),
    serves: run.serves,
    triggerId: run.triggerId,
    chainDepth: run.chainDepth,
    stopReason: run.stopReason,
    error: run.error,
    finalText: run.finalText,
    usage: {
      inputTokens: run.inputTokens,
      outputTokens: run.outputTokens,
      costUsd: run.costUsd,
      grade: run.usageGrade,
    },
    createdAt: showTime(run.createdAt),
    startedAt: run.startedAt === null ? null : showTime(run.startedAt),
    endedAt: run.endedAt === null ? null : showTime(run.endedAt),
  };
}

export function showFailedAttempt(failed: FailedAttempt) {
  return { ...failed, at: showTime(failed.at), notBefore: showTime(failed.notBefore) };
}

function showProgress({ state, progress, progressReason: reason, progressSince: since }: Run) {
  if (state !== 'running') return null;
  return { state: progress ?? ('working' as const), since: since === null ? null : showTime(since), reason };
}

/** A step is what the model does between two tool results. */
export function showSteps(records: readonly RunRecord[], used: readonly AttemptUsage[]) {
  const attempts = Map.groupBy(records, ({ attempt }) => attempt);
  return [...attempts].flatMap(([attempt, made]) => {
    const steps = [...Map.groupBy(made, ({ step }) => step).values()];
    const counted = used.filter((one) => one.attempt === attempt);
    const usage = usageOfSteps(steps.map(sumOf), counted.length > 0 ? usageOf(counted) : null);
    return steps.map((rows, i) => ({
      step: rows[0]?.step ?? 0,
      attempt,
      startedAt: showTime(rows[0]?.createdAt ?? 0),
      tools: rows.filter(({ type }) => type === 'tool_call_message').map(({ tool }) => tool ?? ''),
      usage: usage[i] ?? null,
    }));
  });
}

/** What the attempt had used at the end of a step. */
function sumOf(rows: readonly RunRecord[]): Tokens | null {
  const { inputTokens, outputTokens, costUsd } = rows.findLast((row) => row.inputTokens !== null) ?? {};
  return typeof inputTokens === 'number'
    ? { inputTokens, outputTokens: outputTokens ?? 0, costUsd: costUsd ?? 0 }
    : null;
}

export function showRunMessage(row: RunRecord) {
  return {
    n: row.n,
    step: row.step,
    attempt: row.attempt,
    type: row.type,
    tool: row.tool,
    callId: row.callId,
    content: row.content,
    isError: row.isError,
    sections: row.sections,
    createdAt: showTime(row.createdAt),
  };
}

export function showChannel(view: ChannelView) {
  return {
    id: view.id,
    kind: view.kind,
    topic: view.topic,
    member: view.readSeq !== null,
    unread: Number(view.unread),
    createdAt: showTime(view.createdAt),
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
    open: block.open,
    createdAt: showTime(block.createdAt),
    updatedAt: showTime(block.updatedAt),
  };
}

export function showBlockChange(change: BlockChange & { readonly by: string }) {
  return { version: change.version, text: change.text, by: change.by, at: showTime(change.at) };
}

export function showPassage(row: Passage) {
  return {
    id: row.id,
    content: row.content,
    tags: [...row.tags],
    createdAt: showTime(row.createdAt),
  };
}

export function showTime(at: number): string {
  return new Date(at).toISOString();
}
