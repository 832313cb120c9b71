import { agentQueries } from './agents.ts';
import { attachmentQueries } from './attachments.ts';
import type { BatchState } from './batch.ts';
import { blockQueries } from './blocks.ts';
import { broadcastQueries } from './broadcasts.ts';
import { channelQueries } from './channels.ts';
import { chunkSearchQueries } from './chunk-search.ts';
import { chunkQueries } from './chunks.ts';
import { conversationQueries } from './conversations.ts';
import { deliveryQueries } from './deliveries.ts';
import { documentQueries } from './documents.ts';
import { eventQueries } from './events.ts';
import { idempotencyQueries } from './idempotency.ts';
import { leaseQueries } from './leases.ts';
import { messageQueries } from './messages.ts';
import { nodeRequestQueries } from './node-requests.ts';
import { nodeQueries } from './nodes.ts';
import { participantQueries } from './participants.ts';
import { passageQueries } from './passages.ts';
import { createQueries, type Engine, type Execute } from './query.ts';
import { reactionQueries } from './reactions.ts';
import { recordQueries } from './records.ts';
import { reminderQueries } from './reminders.ts';
import { requestQueries } from './requests.ts';
import { retentionQueries } from './retention.ts';
import { roundQueries } from './rounds.ts';
import { runQueries } from './runs.ts';
import { sessionQueries } from './sessions.ts';
import { timerQueries } from './timers.ts';
import { tokenQueries } from './tokens.ts';
import { treeQueries } from './trees.ts';
import type { Tx } from './tx.ts';
import { vectorQueries } from './vectors.ts';
import { workspaceQueries } from './workspaces.ts';

/** Created once per connection: its queries are compiled on first use and cached. */
export function createTx(engine: Engine, execute: Execute, batch: BatchState): Tx {
  const queries = createQueries(engine, execute);
  return {
    agents: agentQueries(queries),
    attachments: attachmentQueries(queries),
    broadcasts: broadcastQueries(queries),
    channels: channelQueries(queries),
    conversations: conversationQueries(queries),
    deliveries: deliveryQueries(queries),
    documents: {
      ...documentQueries(queries),
      ...chunkQueries(queries),
      ...chunkSearchQueries(queries),
      ...vectorQueries(queries),
    },
    events: eventQueries(queries, batch),
    idempotency: idempotencyQueries(queries),
    memory: { ...blockQueries(queries), ...passageQueries(queries) },
    messages: { ...messageQueries(queries), ...reactionQueries(queries) },
    nodes: { ...nodeQueries(queries), ...nodeRequestQueries(queries, batch) },
    participants: participantQueries(queries),
    records: recordQueries(queries),
    reminders: reminderQueries(queries),
    requests: requestQueries(queries),
    retention: retentionQueries(queries),
    rounds: roundQueries(queries),
    runs: { ...runQueries(queries, batch), ...leaseQueries(queries, batch) },
    sessions: sessionQueries(queries),
    timers: timerQueries(queries, batch),
    tokens: tokenQueries(queries),
    trees: treeQueries(queries, batch),
    workspaces: workspaceQueries(queries),
  };
}
