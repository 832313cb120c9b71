import { agentQueries } from './agents.ts';
import { attachmentQueries } from './attachments.ts';
import type { BatchState } from './batch.ts';
import { blockQueries } from './blocks.ts';
import { broadcastQueries } from './broadcasts.ts';
import { budgetQueries } from './budgets.ts';
import { channelQueries } from './channels.ts';
import { chunkSearchQueries } from './chunk-search.ts';
import { chunkQueries } from './chunks.ts';
import { claimQueries } from './claims.ts';
import { configuredQueries } from './configured.ts';
import { conversationQueries } from './conversations.ts';
import { deletionQueries } from './deletions.ts';
import { deliveryQueries } from './deliveries.ts';
import { documentQueries } from './documents.ts';
import { eventQueries } from './events.ts';
import { evidenceQueries } from './evidence.ts';
import { idempotencyQueries } from './idempotency.ts';
import { idQueries } from './ids.ts';
import { leaseQueries } from './leases.ts';
import { leftoverQueries } from './leftovers.ts';
import { limitQueries } from './limits.ts';
import { messageQueries } from './messages.ts';
import { metricQueries } from './metrics.ts';
import { nodeRequestQueries } from './node-requests.ts';
import { nodeQueries } from './nodes.ts';
import { participantQueries } from './participants.ts';
import { passageVectorQueries } from './passage-vectors.ts';
import { passageQueries } from './passages.ts';
import { createQueries, type Engine, type Execute } from './query.ts';
import { questionQueries } from './questions.ts';
import { reactionQueries } from './reactions.ts';
import { recordQueries } from './records.ts';
import { reminderQueries } from './reminders.ts';
import { reopeningQueries } from './reopening.ts';
import { reportQueries } from './reports.ts';
import { requestQueries } from './requests.ts';
import { retentionQueries } from './retention.ts';
import { roundQueries } from './rounds.ts';
import { runQueries } from './runs.ts';
import { scheduleQueries } from './schedules.ts';
import { sessionQueries } from './sessions.ts';
import { settingsQueries } from './settings.ts';
import { snapshotQueries } from './snapshots.ts';
import { subscriptionQueries } from './subscriptions.ts';
import { timerQueries } from './timers.ts';
import { tokenQueries } from './tokens.ts';
import { traceQueries } from './traces.ts';
import { treeQueries } from './trees.ts';
import type { Tx } from './tx.ts';
import { usageQueries } from './usage.ts';
import { vectorQueries } from './vectors.ts';
import { wipQueries } from './wips.ts';
import { workspaceQueries } from './workspaces.ts';

/** Created once per connection: its queries are compiled on first use and cached. */
export function createTx(engine: Engine, execute: Execute, batch: BatchState): Tx {
  const queries = createQueries(engine, execute);
  return lazily<Tx>({
    agents: () => agentQueries(queries, batch),
    attachments: () => attachmentQueries(queries),
    broadcasts: () => broadcastQueries(queries),
    budgets: () => budgetQueries(queries, batch),
    channels: () => channelQueries(queries),
    configured: () => configuredQueries(queries),
    conversations: () => conversationQueries(queries),
    deletions: () => deletionQueries(queries),
    deliveries: () => deliveryQueries(queries, batch),
    documents: () => ({
      ...documentQueries(queries),
      ...chunkQueries(queries),
      ...chunkSearchQueries(queries),
      ...vectorQueries(queries),
    }),
    events: () => eventQueries(queries, batch),
    evidence: () => evidenceQueries(queries),
    idempotency: () => idempotencyQueries(queries),
    ids: () => idQueries(queries),
    leftovers: () => leftoverQueries(queries),
    limits: () => limitQueries(queries),
    memory: () => ({ ...blockQueries(queries), ...passageQueries(queries, batch), ...passageVectorQueries(queries) }),
    messages: () => ({ ...messageQueries(queries, batch), ...reactionQueries(queries) }),
    metrics: () => metricQueries(queries),
    nodes: () => ({ ...nodeQueries(queries), ...nodeRequestQueries(queries, batch) }),
    participants: () => participantQueries(queries),
    questions: () => questionQueries(queries),
    records: () => recordQueries(queries),
    reminders: () => reminderQueries(queries),
    requests: () => requestQueries(queries, batch),
    reports: () => reportQueries(queries),
    retention: () => retentionQueries(queries),
    rounds: () => roundQueries(queries),
    runs: () => ({
      ...runQueries(queries, batch),
      ...claimQueries(queries, batch),
      ...leaseQueries(queries, batch),
      ...reopeningQueries(queries, batch),
      ...usageQueries(queries),
    }),
    schedules: () => scheduleQueries(queries, batch),
    sessions: () => sessionQueries(queries),
    settings: () => settingsQueries(queries),
    snapshots: () => snapshotQueries(queries),
    subscriptions: () => subscriptionQueries(queries),
    timers: () => timerQueries(queries, batch),
    tokens: () => tokenQueries(queries),
    traces: () => traceQueries(queries),
    trees: () => treeQueries(queries, batch),
    wips: () => wipQueries(queries),
    workspaces: () => workspaceQueries(queries),
  });
}

/** Each part is made when it is first used: a command that only searches needs few of them. */
function lazily<T extends object>(parts: { readonly [K in keyof T]: () => T[K] }): T {
  const made = {} as T;
  for (const name of Object.keys(parts) as (keyof T)[]) {
    const get = () => {
      const value = parts[name]();
      Object.defineProperty(made, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(made, name, { get, enumerable: true, configurable: true });
  }
  return made;
}
