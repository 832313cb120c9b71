import { sql } from 'kysely';
import { type Agent, SYSTEM_ID, USER_ID } from '../core/agent.ts';
import type { AgentId, ChannelId } from '../core/ids.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import { isOneOf, listOf } from './key-list.ts';
import { messageRemoval } from './message-removal.ts';
import type { Queries } from './query.ts';

/** Removes what has ended for good. */
export interface Deletions {
  /** The agent and all below it, living or not. */
  listFamily(p: { id: AgentId }): Promise<Agent[]>;
  /**
   * Agents with all of their descendants, all of them terminated: their messages and those to them, their runs, memory,
   * sessions and settings. Workspaces and links that they made become the owner's. Returns how many messages went.
   */
  deleteAgents(p: { ids: readonly AgentId[] }): Promise<{ readonly messages: number; readonly runs: number }>;
  /** The agents that have yet to see messages of a channel, and those whose turn carries some now. External ones do not count as busy. */
  listReaders(p: { channelId: ChannelId }): Promise<{ agentId: AgentId; handle: string; state: 'waiting' | 'busy' }[]>;
  /** A channel with its messages and members. Nobody may be busy with it. Returns how many messages went. */
  deleteChannel(p: { id: ChannelId }): Promise<{ readonly messages: number }>;
}

export function deletionQueries(queries: Queries): Deletions {
  const { db, all, run, engine } = queries;
  const removeMessages = messageRemoval(queries);
  const among = (column: string, ids: unknown) => isOneOf(engine, column, ids, 'text');
  type Ids = { readonly ids: unknown };

  /** Direct messages with them, and the channels of their teams. */
  const theirChannels = all((p: Ids) =>
    db
      .selectFrom('channels')
      .leftJoin('members', 'members.channelId', 'channels.id')
      .select('channels.id')
      .distinct()
      .where((eb) =>
        eb.or([
          among('channels.teamOf', p.ids),
          eb.and([eb('channels.kind', '=', 'dm'), among('members.participantId', p.ids)]),
        ]),
      ),
  );
  const theirMessages = all((p: Ids & { channels: unknown }) =>
    db
      .selectFrom('messages')
      .leftJoin('requests', 'requests.messageId', 'messages.id')
      .select('messages.id')
      .where((eb) =>
        eb.or([
          among('messages.authorId', p.ids),
          among('messages.channelId', p.channels),
          among('requests.askerId', p.ids),
          among('requests.recipientId', p.ids),
        ]),
      ),
  );
  const theirRuns = all((p: Ids) => db.selectFrom('runs').select('id').where(among('agentId', p.ids)));
  const theirPassages = sql`select seq from passages where `;

  const beforeMessages = [
    run((p: Ids) => db.deleteFrom('deliveries').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('reactions').where(among('participantId', p.ids))),
    run((p: Ids) => db.deleteFrom('turns').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('questions').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('reminders').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('evidence').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('subscriptions').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('subscriptions').where(among('subjectId', p.ids))),
  ];
  const ofChannels = [
    run((p: Ids) => db.deleteFrom('turns').where(among('channelId', p.ids))),
    run((p: Ids) => db.deleteFrom('members').where(among('channelId', p.ids))),
    run((p: Ids) => db.deleteFrom('channels').where(among('id', p.ids))),
  ];
  const removeRecords = run((p: Ids) => db.deleteFrom('run_messages').where(among('runId', p.ids)));
  const removeRuns = run((p: Ids) => db.deleteFrom('runs').where(among('id', p.ids)));
  const ofMemory = [
    run((p: Ids) =>
      db.deleteFrom('passage_words').where(sql<boolean>`rowid in (${theirPassages}${among('agent_id', p.ids)})`),
    ),
    run((p: Ids) => db.deleteFrom('passage_vectors').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('passages').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('passage_stats').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('block_readers').where(among('agentId', p.ids))),
    run((p: Ids) =>
      db
        .deleteFrom('block_readers')
        .where('blockId', 'in', (eb) => eb.selectFrom('blocks').select('blocks.id').where(among('ownerId', p.ids))),
    ),
    run((p: Ids) =>
      db
        .deleteFrom('block_changes')
        .where('blockId', 'in', (eb) => eb.selectFrom('blocks').select('blocks.id').where(among('ownerId', p.ids))),
    ),
    run((p: Ids) => db.deleteFrom('blocks').where(among('ownerId', p.ids))),
    // What they wrote in others' blocks stays there.
    run((p: Ids) => db.updateTable('block_changes').set({ changedBy: SYSTEM_ID }).where(among('changedBy', p.ids))),
  ];
  const rest = [
    run((p: Ids) => db.deleteFrom('members').where(among('participantId', p.ids))),
    run((p: Ids) => db.updateTable('channels').set({ createdBy: null }).where(among('createdBy', p.ids))),
    run((p: Ids) => db.deleteFrom('sessions').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('conversation_entries').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('provider_limits').where(among('agentId', p.ids))),
    run((p: Ids) => db.deleteFrom('budgets').where(among('subjectId', p.ids))),
    run((p: Ids) => db.deleteFrom('former_names').where(among('agentId', p.ids))),
    run((p: Ids) => db.updateTable('agent_settings').set({ changedBy: null }).where(among('changedBy', p.ids))),
    run((p: Ids) => db.deleteFrom('agent_settings').where(among('agentId', p.ids))),
    // The configuration remembers that its member was deleted, and does not create it again by itself.
    run((p: Ids) => db.updateTable('configured').set({ agentId: null }).where(among('agentId', p.ids))),
    run((p: Ids) => db.updateTable('workspaces').set({ ownerId: USER_ID }).where(among('ownerId', p.ids))),
    run((p: Ids) => db.updateTable('links').set({ madeBy: USER_ID }).where(among('madeBy', p.ids))),
    run((p: Ids) => db.deleteFrom('agents').where(among('id', p.ids))),
    run((p: Ids) => db.deleteFrom('trees').where(among('id', p.ids))),
    run((p: Ids) => db.deleteFrom('participants').where(among('id', p.ids))),
  ];

  const pendingIn = all((p: { channelId: string }) =>
    db
      .selectFrom('messages')
      .innerJoin('deliveries', 'deliveries.messageId', 'messages.id')
      .innerJoin('participants', 'participants.id', 'deliveries.agentId')
      .select(['deliveries.agentId', 'participants.handle'])
      .distinct()
      .where('messages.channelId', '=', p.channelId)
      .where('deliveries.state', '=', 'pending'),
  );
  const carriedIn = all((p: { channelId: string }) =>
    db
      .selectFrom('runs')
      .innerJoin('agents', 'agents.id', 'runs.agentId')
      .innerJoin('deliveries', 'deliveries.runId', 'runs.id')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .select(['runs.agentId', 'agents.handle'])
      .distinct()
      .where('runs.state', 'in', ['created', 'running'])
      .where('agents.provider', '<>', EXTERNAL)
      .where('deliveries.state', '=', 'injected')
      .where('messages.channelId', '=', p.channelId),
  );
  const messagesIn = all((p: { id: string }) =>
    db.selectFrom('messages').select('messages.id').where('messages.channelId', '=', p.id),
  );

  return {
    listReaders: async (p) => [
      ...(await pendingIn(p)).map((one) => ({ ...one, state: 'waiting' as const })),
      ...(await carriedIn(p)).map((one) => ({ ...one, state: 'busy' as const })),
    ],
    deleteChannel: async ({ id }) => {
      const messages = (await messagesIn({ id })).map((row) => row.id);
      await removeMessages(listOf(engine, messages));
      for (const step of ofChannels) await step({ ids: listOf(engine, [id]) });
      return { messages: messages.length };
    },
    listFamily: all((p: { id: string }) =>
      db
        .withRecursive('below', (q) =>
          q
            .selectFrom('agents')
            .select('id')
            .where('id', '=', p.id)
            .unionAll(q.selectFrom('agents').innerJoin('below', 'agents.parentId', 'below.id').select('agents.id')),
        )
        .selectFrom('agents')
        .selectAll('agents')
        .where('agents.id', 'in', (eb) => eb.selectFrom('below').select('below.id')),
    ),
    deleteAgents: async (p) => {
      const ids = listOf(engine, p.ids);
      const rows = await theirChannels({ ids });
      const channels = listOf(
        engine,
        rows.map(({ id }) => id),
      );
      const messages = [...new Set((await theirMessages({ ids, channels })).map(({ id }) => id))];
      const runs = (await theirRuns({ ids })).map(({ id }) => id);
      for (const step of beforeMessages) await step({ ids });
      await removeMessages(listOf(engine, messages));
      await removeRecords({ ids: listOf(engine, runs) });
      await removeRuns({ ids: listOf(engine, runs) });
      for (const step of ofChannels) await step({ ids: channels });
      for (const step of [...ofMemory, ...rest]) await step({ ids });
      return { messages: messages.length, runs: runs.length };
    },
  };
}
