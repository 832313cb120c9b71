import { agentQueries } from './agents.ts';
import { blockQueries } from './blocks.ts';
import { broadcastQueries } from './broadcasts.ts';
import { channelQueries } from './channels.ts';
import { chunkSearchQueries } from './chunk-search.ts';
import { chunkQueries } from './chunks.ts';
import type { BatchState } from './commits.ts';
import { deliveryQueries } from './deliveries.ts';
import { documentQueries } from './documents.ts';
import { eventQueries } from './events.ts';
import { leaseQueries } from './leases.ts';
import { messageQueries } from './messages.ts';
import { nodeQueries } from './nodes.ts';
import { passageQueries } from './passages.ts';
import { payerQueries } from './payers.ts';
import { postQueries } from './posts.ts';
import { createQueries, type Engine, type Execute } from './query.ts';
import { reactionQueries } from './reactions.ts';
import { recordQueries } from './records.ts';
import { requestQueries } from './requests.ts';
import { retentionQueries } from './retention.ts';
import { runQueries } from './runs.ts';
import type { Tx } from './store.ts';
import { tokenQueries } from './tokens.ts';
import { turnQueries } from './turns.ts';
import { vectorQueries } from './vectors.ts';
import { workspaceQueries } from './workspaces.ts';

/** Made once for a connection: its queries are compiled at their first use and kept. */
export function createTx(engine: Engine, execute: Execute, batch: BatchState): Tx {
  const queries = createQueries(engine, execute);
  return {
    ...agentQueries(queries),
    ...blockQueries(queries),
    ...broadcastQueries(queries),
    ...channelQueries(queries),
    ...chunkQueries(queries),
    ...chunkSearchQueries(queries),
    ...deliveryQueries(queries),
    ...documentQueries(queries),
    ...eventQueries(queries, batch),
    ...leaseQueries(queries, batch),
    ...messageQueries(queries),
    ...nodeQueries(queries),
    ...passageQueries(queries),
    ...payerQueries(queries),
    ...postQueries(queries),
    ...reactionQueries(queries),
    ...recordQueries(queries),
    ...requestQueries(queries),
    ...retentionQueries(queries),
    ...runQueries(queries, batch),
    ...tokenQueries(queries),
    ...turnQueries(queries),
    ...vectorQueries(queries),
    ...workspaceQueries(queries),
  };
}
