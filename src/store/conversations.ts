import type { ConversationEntry } from '../core/conversation.ts';
import type { Queries } from './query.ts';

/** Conversations with models. */
export interface Conversations {
  insertEntry(entry: ConversationEntry): Promise<void>;
  /** The number of its last entry, or 0. */
  getLastEntry(p: { session: string }): Promise<number>;
  /** The last summary, if there is one, and what follows the entries that it replaces. */
  listEntries(p: { session: string }): Promise<ConversationEntry[]>;
}

type Stored = Omit<ConversationEntry, 'content'> & { readonly content: string };

export function conversationQueries({ db, all, one, put }: Queries): Conversations {
  const insert = put((p: Stored) =>
    db.insertInto('conversation_entries').values({
      session: p.session,
      n: p.n,
      agentId: p.agentId,
      runId: p.runId,
      role: p.role,
      content: p.content,
      covers: p.covers,
      inputTokens: p.inputTokens,
      outputTokens: p.outputTokens,
      createdAt: p.createdAt,
    }),
  );
  const last = one((p: { session: string }) =>
    db.selectFrom('conversation_entries').select('n').where('session', '=', p.session).orderBy('n', 'desc').limit(1),
  );
  const summary = one((p: { session: string }) =>
    db
      .selectFrom('conversation_entries')
      .selectAll()
      .where('session', '=', p.session)
      .where('covers', 'is not', null)
      .orderBy('n', 'desc')
      .limit(1),
  );
  const after = all((p: { session: string; after: number }) =>
    db
      .selectFrom('conversation_entries')
      .selectAll()
      .where('session', '=', p.session)
      .where('n', '>', p.after)
      .where('covers', 'is', null)
      .orderBy('n'),
  );
  return {
    insertEntry: (entry) => insert({ ...entry, content: JSON.stringify(entry.content) }),
    getLastEntry: async (p) => (await last(p))?.n ?? 0,
    listEntries: async ({ session }) => {
      const covering = await summary({ session });
      const rows = await after({ session, after: covering?.covers ?? 0 });
      return [...(covering ? [covering] : []), ...rows].map((row) => ({ ...row, content: JSON.parse(row.content) }));
    },
  };
}
