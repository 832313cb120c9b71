import { sql } from 'kysely';
import type { AgentId, MessageId, ParticipantId } from '../core/ids.ts';
import type { Question, Settlement } from '../core/question.ts';
import type { Queries } from './query.ts';
import type { QuestionView } from './views.ts';

export interface Questions {
  insertQuestion(question: Question): Promise<void>;
  getQuestion(p: { id: MessageId }): Promise<Question | null>;
  getQuestionView(p: { id: MessageId }): Promise<QuestionView | null>;
  getOpenQuestion(p: { agentId: AgentId; digest: string }): Promise<Question | null>;
  countOpenQuestions(p: { agentId: AgentId }): Promise<number>;
  countOpenInTree(p: { treeId: AgentId }): Promise<number>;
  /** Open ones that the agent asked to answer a request. */
  listOpenUnder(p: { parentId: MessageId; agentId: ParticipantId }): Promise<Question[]>;
  /** Newest first, older than `before`. For a participant only those that it may answer. */
  listQuestions(p: {
    participantId: ParticipantId | null;
    open: boolean;
    before: number;
    limit: number;
  }): Promise<QuestionView[]>;
  /** Compare and set: false if it has an outcome already. */
  trySettle(p: Settlement & { id: MessageId; at: number }): Promise<boolean>;
  /** The rejections of a call, the newest first. */
  listRejections(p: { agentId: AgentId; digest: string }): Promise<Question[]>;
  /** Whether a call is permitted now. */
  hasGrant(p: GrantedCall): Promise<boolean>;
  /** Compare and set: uses up one grant for the call. False if there is none. */
  tryUseGrant(p: GrantedCall): Promise<boolean>;
  /** Takes back every grant of the agent that was not used. */
  dropGrants(p: { agentId: AgentId }): Promise<number>;
  /** Open ones whose push is due, the longest due first. */
  listUntold(p: { now: number; limit: number }): Promise<QuestionView[]>;
  getNextTelling(): Promise<number | null>;
  /** Compare and set: postpones the next attempt; false if somebody else has it. */
  tryClaimTelling(p: { id: MessageId; seen: number; until: number }): Promise<boolean>;
  setTold(p: { id: MessageId; told: readonly string[]; tellAt: number | null }): Promise<void>;
  /** Whether a person has written to the agent after a time. */
  hasHeard(p: { agentId: AgentId; after: number }): Promise<boolean>;
}

/** A call that needs an approval of one of these participants. */
interface GrantedCall {
  readonly agentId: AgentId;
  readonly digest: string;
  readonly by: readonly ParticipantId[];
  readonly now: number;
}

export function questionQueries({ db, one, all, value, put, count, attempt, change, run, fetch }: Queries): Questions {
  const open = () => db.selectFrom('questions').selectAll('questions').where('outcome', 'is', null);
  const views = () =>
    db
      .selectFrom('questions')
      .innerJoin('messages', 'messages.id', 'questions.id')
      .innerJoin('requests', 'requests.messageId', 'questions.id')
      .innerJoin('agents', 'agents.id', 'questions.agentId')
      .leftJoin('participants', 'participants.id', 'questions.settledBy')
      .selectAll('questions')
      .select([
        'messages.seq',
        'messages.channelId',
        'agents.handle',
        'agents.provider',
        'requests.deadlineAt',
        'requests.parentId',
        'participants.handle as settledByHandle',
      ]);
  const grants = all((p: { agentId: string; digest: string; now: number }) =>
    db
      .selectFrom('questions')
      .select(['id', 'settledBy'])
      .where('agentId', '=', p.agentId)
      .where('grantDigest', '=', p.digest)
      .where('usedAt', 'is', null)
      .where('grantUntil', '>', p.now)
      .orderBy('settledAt'),
  );
  const grantOf = async ({ by, ...call }: GrantedCall) =>
    (await grants(call)).find(({ settledBy }) => settledBy !== null && by.includes(settledBy)) ?? null;
  const use = attempt((p: { id: string; now: number }) =>
    db.updateTable('questions').set({ usedAt: p.now }).where('id', '=', p.id).where('usedAt', 'is', null),
  );
  const heard = count((p: { agentId: string; after: number }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .innerJoin('participants', 'participants.id', 'messages.authorId')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('deliveries.agentId', '=', p.agentId)
      .where('participants.kind', '=', 'person')
      // A schedule is not a person who has just written.
      .where('messages.cause', 'is', null)
      .where('messages.createdAt', '>', p.after),
  );
  return {
    insertQuestion: put((p: Question) =>
      db.insertInto('questions').values({
        id: p.id,
        agentId: p.agentId,
        treeId: p.treeId,
        kind: p.kind,
        subject: p.subject,
        details: p.details,
        options: p.options,
        tool: p.tool,
        args: p.args,
        digest: p.digest,
        blocking: p.blocking,
        answerers: p.answerers,
        createdAt: p.createdAt,
        outcome: p.outcome,
        note: p.note,
        revisedArgs: p.revisedArgs,
        settledBy: p.settledBy,
        settledWith: p.settledWith,
        settledAt: p.settledAt,
        grantDigest: p.grantDigest,
        grantUntil: p.grantUntil,
        usedAt: p.usedAt,
        tellAt: p.tellAt,
        told: p.told,
      }),
    ),
    getQuestion: one((p: { id: string }) => db.selectFrom('questions').selectAll().where('id', '=', p.id)),
    getQuestionView: one((p: { id: string }) => views().where('questions.id', '=', p.id)),
    getOpenQuestion: one((p: { agentId: string; digest: string }) =>
      open().where('agentId', '=', p.agentId).where('digest', '=', p.digest),
    ),
    countOpenQuestions: count((p: { agentId: string }) =>
      db
        .selectFrom('questions')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('agentId', '=', p.agentId)
        .where('outcome', 'is', null),
    ),
    countOpenInTree: count((p: { treeId: string }) =>
      db
        .selectFrom('questions')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('treeId', '=', p.treeId)
        .where('outcome', 'is', null),
    ),
    listOpenUnder: all((p: { parentId: string; agentId: string }) =>
      open()
        .innerJoin('requests', 'requests.messageId', 'questions.id')
        .where('questions.agentId', '=', p.agentId)
        .where('requests.parentId', '=', p.parentId)
        .orderBy('questions.createdAt'),
    ),
    listQuestions: (p) =>
      fetch(
        views()
          .$if(p.open, (q) => q.where('questions.outcome', 'is', null))
          .$if(p.participantId !== null, (q) =>
            q.where(sql<boolean>`questions.answerers like ${`%"${p.participantId}"%`}`),
          )
          // Sorted, not read in the order of the messages: questions are few among them.
          .where(sql<number>`+messages.seq`, '<', p.before)
          .orderBy(sql`+messages.seq`, 'desc')
          .limit(p.limit),
      ),
    trySettle: attempt((p: Settlement & { id: string; at: number }) =>
      db
        .updateTable('questions')
        .set({
          outcome: p.outcome,
          note: p.note,
          revisedArgs: p.revisedArgs,
          settledBy: p.settledBy,
          settledWith: p.settledWith,
          settledAt: p.at,
          grantDigest: p.grantDigest,
          grantUntil: p.grantUntil,
        })
        .where('id', '=', p.id)
        .where('outcome', 'is', null),
    ),
    listRejections: all((p: { agentId: string; digest: string }) =>
      db
        .selectFrom('questions')
        .selectAll()
        .where('agentId', '=', p.agentId)
        .where('digest', '=', p.digest)
        .where('outcome', '=', 'rejected')
        .orderBy('settledAt', 'desc'),
    ),
    hasGrant: async (p) => (await grantOf(p)) !== null,
    tryUseGrant: async (p) => {
      const found = await grantOf(p);
      return found !== null && (await use({ id: found.id, now: p.now }));
    },
    dropGrants: run((p: { agentId: string }) =>
      db
        .updateTable('questions')
        .set({ grantDigest: null })
        .where('agentId', '=', p.agentId)
        .where('grantDigest', 'is not', null)
        .where('usedAt', 'is', null),
    ),
    listUntold: all((p: { now: number; limit: number }) =>
      views()
        .where('questions.outcome', 'is', null)
        .where('questions.tellAt', '<=', p.now)
        .orderBy('questions.tellAt')
        .limit(p.limit),
    ),
    getNextTelling: value(() =>
      db
        .selectFrom('questions')
        .select((eb) => eb.fn.min('tellAt').as('at'))
        .where('outcome', 'is', null)
        .where('tellAt', 'is not', null),
    ),
    tryClaimTelling: attempt((p: { id: string; seen: number; until: number }) =>
      db
        .updateTable('questions')
        .set({ tellAt: p.until })
        .where('id', '=', p.id)
        .where('outcome', 'is', null)
        .where('tellAt', '=', p.seen),
    ),
    setTold: change('question', (p: { id: string; told: readonly string[]; tellAt: number | null }) =>
      db.updateTable('questions').set({ told: p.told, tellAt: p.tellAt }).where('id', '=', p.id),
    ),
    hasHeard: async (p) => (await heard(p)) > 0,
  };
}
