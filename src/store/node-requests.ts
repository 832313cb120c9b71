import type { NodeRequest } from '../core/node.ts';
import type { BatchState } from './batch.ts';
import type { NodeRequests } from './node-tx.ts';
import type { Queries } from './query.ts';

type NewRequest = Pick<NodeRequest, 'id' | 'nodeId' | 'kind' | 'asked' | 'createdAt'>;

/** Each change wakes the other side: the node, or the caller that waits for the answer. */
export function nodeRequestQueries({ db, all, one, put, change, attempt }: Queries, batch: BatchState): NodeRequests {
  const insert = put((p: NewRequest) =>
    db.insertInto('node_requests').values({
      id: p.id,
      nodeId: p.nodeId,
      kind: p.kind,
      asked: p.asked,
      state: 'open',
      answer: null,
      createdAt: p.createdAt,
    }),
  );
  const answer = change('node request', (p: { id: string; answer: unknown }) =>
    db.updateTable('node_requests').set({ state: 'answered', answer: p.answer }).where('id', '=', p.id),
  );
  return {
    insertNodeRequest: async (request) => {
      await insert(request);
      batch.runnable = true;
    },
    getNodeRequest: one((p: { id: string }) => db.selectFrom('node_requests').selectAll().where('id', '=', p.id)),
    listOpenNodeRequests: all((p: { nodeId: string }) =>
      db
        .selectFrom('node_requests')
        .selectAll()
        .where('nodeId', '=', p.nodeId)
        .where('state', '=', 'open')
        .orderBy('createdAt')
        .orderBy('id'),
    ),
    tryTakeNodeRequest: attempt((p: { id: string }) =>
      db.updateTable('node_requests').set({ state: 'taken' }).where('id', '=', p.id).where('state', '=', 'open'),
    ),
    answerNodeRequest: async (p) => {
      await answer(p);
      batch.runnable = true;
    },
    deleteNodeRequest: put((p: { id: string }) => db.deleteFrom('node_requests').where('id', '=', p.id)),
    clearNodeRequests: put((p: { nodeId: string }) => db.deleteFrom('node_requests').where('nodeId', '=', p.nodeId)),
  };
}
