import type { Attempt } from '../core/attempt.ts';
import type { Conversation } from '../core/conversation.ts';
import type { RunRecord } from '../core/run.ts';
import type { Store } from '../store/store.ts';

/** The conversation of an attempt's agent, for a provider that has no program to store it. */
export function conversationOf(store: Store, attempt: Attempt, clock: () => number): Conversation {
  return {
    load: (session) => store.read((tx) => tx.conversations.listEntries({ session })),
    append: (session, entries) =>
      store.write(async (tx) => {
        const { id: runId, agentId } = await tx.runs.holdRun(attempt);
        const last = await tx.conversations.getLastEntry({ session });
        const createdAt = clock();
        const added = entries.map(({ role, content, covers = null, inputTokens = 0, outputTokens = 0 }, i) => {
          const counts = { inputTokens, outputTokens };
          return { session, n: last + 1 + i, agentId, runId, role, content, covers, ...counts, createdAt };
        });
        for (const entry of added) await tx.conversations.insertEntry(entry);
        return added;
      }),
    readFile: async (hash) => {
      const file = await store.read((tx) => tx.attachments.getFile({ hash }));
      return file && Buffer.from(file.bytes).toString('base64');
    },
    findCall: async (runId, callId) => {
      const records = await store.read((tx) => tx.records.listRecords({ runId }));
      const has = (type: RunRecord['type']) => records.findLast((row) => row.type === type && row.callId === callId);
      const returned = has('tool_return_message');
      if (returned) return { result: returned.content, isError: returned.isError };
      return has('tool_call_message') ? 'begun' : null;
    },
  };
}
