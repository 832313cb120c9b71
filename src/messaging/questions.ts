import { hash } from 'node:crypto';
import { type Agent, SYSTEM_ID, USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Message, Request } from '../core/message.ts';
import { toolInWords } from '../core/own-tool.ts';
import { type Arguments, type Question, type Settlement, settled, UNSETTLED } from '../core/question.ts';
import type { Run } from '../core/run.ts';
import { canonicalJson, shorten } from '../core/text.ts';
import { countWord, payerOf } from './allowance.ts';
import { openDm, type Side } from './channels.ts';
import { closeRequest, holdDeadlines } from './closing.ts';
import { post } from './post.ts';
import type { MessagingRules } from './rules.ts';
import type { Tx } from './tx.ts';

const OWNER: Side = { id: USER_ID, handle: USER_ID };
const MOST_PER_AGENT = 5;
const MOST_PER_TREE = 20;
/** How long an approval can be used. */
const GRANT_MS = 24 * 3600_000;
/** After a rejection, the same call is refused without asking for so long, unless a person writes to the agent. */
const REJECTED_MS = 3600_000;

/** What `ask_person` asks. */
export interface NewQuestion extends Pick<Question, 'details' | 'options' | 'blocking'> {
  readonly question: string;
}

/** A call that a policy allows only after a person has approved it. */
export interface NewApproval {
  readonly tool: string;
  /** As validated. */
  readonly input: Arguments;
  readonly digest: string;
  /** Handles of those who may approve it; null: only the owner. */
  readonly by: readonly string[] | null;
}

export interface Asked {
  readonly questionId: string;
  /** The same question was open already. */
  readonly isOld: boolean;
}

/** Asks the person at whose word the work began, if they see the agent, otherwise the owner. The owner may always answer. */
export async function askPerson(
  tx: Tx,
  rules: MessagingRules,
  from: { readonly agent: Agent; readonly run: Run },
  { question, details, options, blocking }: NewQuestion,
  now: number,
): Promise<Asked> {
  const digest = hash('sha256', canonicalJson({ question, details, options }), 'base64url');
  const lines = [
    question,
    ...options.map((option, i) => `${i + 1}. ${option}`),
    ...(details === null ? [] : ['', details]),
  ];
  const wanted = { kind: 'question', subject: question, details, options, tool: null, args: null } as const;
  return ask(
    tx,
    rules,
    from,
    { ...wanted, digest, blocking, to: [await askedOf(tx, from)], text: lines.join('\n') },
    now,
  );
}

/** Asks for permission to make one call. Refused without asking if it was rejected recently. */
export async function askApproval(
  tx: Tx,
  rules: MessagingRules,
  from: { readonly agent: Agent; readonly run: Run },
  { tool, input, digest, by }: NewApproval,
  now: number,
): Promise<Asked> {
  const rejections = await tx.questions.listRejections({ agentId: from.agent.id, digest });
  await checkRejected(tx, from.agent, tool, rejections, now);
  const times = rejections.length === 0 ? '' : ` It was rejected before (${rejections.length}×).`;
  const subject = `${from.agent.handle} needs your approval to call ${tool}.${times}`;
  const named = await namedBy(tx, by);
  const to = named.length === 0 ? [OWNER] : named;
  const text = `${subject}\n\n\`\`\`json\n${JSON.stringify(JSON.parse(canonicalJson(input)), null, 2).replaceAll('```', '`\u200b``')}\n\`\`\``;
  const wanted = { kind: 'approval', subject, details: null, options: [], tool, args: input, digest } as const;
  return ask(tx, rules, from, { ...wanted, blocking: true, to, text }, now);
}

/** The ids of those whose approval counts now: a grant of anybody else is void. */
export async function approversOf(tx: Tx, by: readonly string[] | null): Promise<string[]> {
  return [USER_ID, ...(await namedBy(tx, by)).map(({ id }) => id)];
}

async function namedBy(tx: Tx, by: readonly string[] | null): Promise<Side[]> {
  const named: Side[] = [];
  for (const handle of by ?? []) {
    const person = await tx.participants.getParticipant({ handleKey: handle.toLowerCase() });
    if (person?.kind === 'person') named.push(person);
  }
  return named;
}

type Wanted = Pick<Question, 'kind' | 'subject' | 'details' | 'options' | 'tool' | 'args' | 'digest' | 'blocking'> & {
  readonly to: readonly Side[];
  readonly text: string;
};

async function ask(
  tx: Tx,
  rules: MessagingRules,
  { agent, run }: { readonly agent: Agent; readonly run: Run },
  { to, text, ...wanted }: Wanted,
  now: number,
): Promise<Asked> {
  const open = await tx.questions.getOpenQuestion({ agentId: agent.id, digest: wanted.digest });
  if (open) return { questionId: open.id, isOld: true };
  await checkRoom(tx, agent);
  const served = run.serves && wanted.blocking ? await tx.requests.getRequest({ id: run.serves }) : null;
  const parentId = served?.state === 'open' ? served.messageId : null;
  await holdDeadlines(tx, parentId, now);
  const recipient = to[0] as Side;
  const id = await post(
    tx,
    {
      channelId: await openDm(tx, agent, recipient, now),
      authorId: agent.id,
      runId: run.id,
      kind: 'message',
      text,
      chainDepth: run.chainDepth,
      payerId: run.payerId,
      recipients: [],
      request: { recipientId: recipient.id, parentId, deadlineAt: now + rules.questionDeadlineMs },
    },
    now,
  );
  await tx.questions.insertQuestion({
    id,
    agentId: agent.id,
    treeId: agent.treeId,
    ...wanted,
    answerers: to.map((one) => one.id),
    createdAt: now,
    ...UNSETTLED,
    tellAt: rules.pushes ? now : null,
  });
  const data = { agentId: agent.id, questionId: id, kind: wanted.kind };
  await tx.events.appendEvent({ type: 'question_asked', at: now, agentId: agent.id, data });
  return { questionId: id, isOld: false };
}

/** What a person decides. `revised` approves other arguments: with the digest of the call. */
export type Decision =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'reject'; readonly text: string | null }
  | {
      readonly kind: 'approve';
      readonly text: string | null;
      readonly revised: { readonly args: Arguments; readonly digest: string } | null;
    };

/** Settles a question. The first decision holds; a second or a late one is refused with the reason. */
export async function decide(
  tx: Tx,
  rules: MessagingRules,
  who: Side & { readonly token: string | null },
  id: string,
  decision: Decision,
  now: number,
): Promise<Question> {
  const question = await tx.questions.getQuestion({ id });
  if (!question || !mayAnswer(question, who.id))
    throw new SubstratError('not_found', `There is no question ${shorten(id)}.`);
  await checkOpen(tx, question);
  if ((question.kind === 'approval') === (decision.kind === 'answer')) throw wrongWay(question);
  await countWord(tx, rules, who, [question.treeId], now);
  const request = (await tx.requests.getRequest({ id })) as Request;
  const isDaemons = request.askerId === SYSTEM_ID;
  const how = settlementOf(question, decision, now);
  if (!(await closeRequest(tx, request, { ...how, settledBy: who.id, settledWith: who.token }, now))) {
    throw new SubstratError('conflict', `The question ${id} is closed. Nothing was changed.`);
  }
  const agent = (await tx.agents.getAgent({ id: question.agentId })) as Agent;
  const { channelId } = (await tx.messages.getMessage({ id })) as Message;
  const replyId = await post(
    tx,
    {
      channelId,
      authorId: who.id,
      runId: null,
      kind: 'reply',
      text: textOf(question, how),
      inReplyTo: id,
      chainDepth: 0,
      payerId: payerOf(who),
      // What the daemon asked itself, it handles itself.
      recipients: agent.terminatedAt === null && !isDaemons ? [{ agentId: agent.id, kind: 'reply' }] : [],
    },
    now,
  );
  await tx.requests.setRequestReply({ id, replyId });
  return (await tx.questions.getQuestion({ id })) as Question;
}

export function mayAnswer({ answerers }: Question, participantId: string): boolean {
  return participantId === USER_ID || answerers.includes(participantId);
}

/** A person's message names a request: an approval is not given in words, and a settled question takes no second answer. */
export async function checkWords(tx: Tx, { messageId: id, askerId }: Request): Promise<void> {
  const question = await tx.questions.getQuestion({ id });
  if (!question) return;
  await checkOpen(tx, question);
  if (question.kind === 'approval' || askerId === SYSTEM_ID) throw wrongWay(question);
}

function settlementOf(question: Question, decision: Decision, now: number): Settlement {
  if (decision.kind === 'answer') return settled('answered', { note: decision.text });
  if (decision.kind === 'reject') return settled('rejected', { note: decision.text });
  const { text: note, revised } = decision;
  const grantUntil = now + GRANT_MS;
  return revised === null
    ? settled('approved', { note, grantDigest: question.digest, grantUntil })
    : settled('revised', { note, grantDigest: revised.digest, revisedArgs: revised.args, grantUntil });
}

/** What the agent reads. It makes the approved call itself. */
function textOf({ tool: name, args }: Question, { outcome, note, revisedArgs, grantUntil }: Settlement): string {
  if (outcome === 'answered') return note ?? '';
  const tool = toolInWords(name ?? '');
  const words = note ? `\n\n${note}` : '';
  if (outcome === 'rejected') return `Rejected: do not call ${tool} with ${canonicalJson(args)}.${words}`;
  const until = new Date(grantUntil ?? 0).toISOString();
  const what = outcome === 'revised' ? 'Approved with other arguments' : 'Approved';
  return `${what}: call ${tool} now, with exactly these arguments: ${canonicalJson(revisedArgs ?? args)}\nThis permits one call until ${until}.${words}`;
}

/** Throws with the outcome if there is one. */
async function checkOpen(tx: Tx, { id, outcome, settledBy, settledAt }: Question): Promise<void> {
  if (outcome === null) return;
  const who = (await tx.participants.getParticipantById({ id: settledBy ?? SYSTEM_ID }))?.handle ?? SYSTEM_ID;
  const at = new Date(settledAt ?? 0).toISOString();
  throw new SubstratError(
    'conflict',
    `The question ${id} is closed: ${outcome} by ${who} at ${at}. Nothing was changed.`,
  );
}

function wrongWay({ id, kind }: Question): SubstratError {
  const how =
    kind === 'approval'
      ? 'is an approval. Approve or reject it: `substrat approve ID` or `substrat reject ID`'
      : 'is a question. Answer it: `substrat answer ID TEXT`';
  return new SubstratError('bad_request', `${id} ${how}.`);
}

async function askedOf(tx: Tx, { agent, run }: { readonly agent: Agent; readonly run: Run }): Promise<Side> {
  const person = run.payerId === null ? null : await tx.participants.getParticipantById({ id: run.payerId });
  const seen =
    person?.kind === 'person' &&
    (agent.parentId === null || (await tx.channels.shareChannel({ a: person.id, b: agent.id })));
  return person && seen ? person : OWNER;
}

async function checkRoom(tx: Tx, agent: Agent): Promise<void> {
  const refuse = (whose: string, most: number) => {
    throw new SubstratError('cap_reached', `${whose} ${most} open questions. End your turn and wait for the answers.`);
  };
  if ((await tx.questions.countOpenQuestions({ agentId: agent.id })) >= MOST_PER_AGENT)
    refuse('You have', MOST_PER_AGENT);
  if ((await tx.questions.countOpenInTree({ treeId: agent.treeId })) >= MOST_PER_TREE)
    refuse('Your tree has', MOST_PER_TREE);
}

async function checkRejected(
  tx: Tx,
  agent: Agent,
  tool: string,
  [last]: readonly Question[],
  now: number,
): Promise<void> {
  const at = last?.settledAt ?? null;
  if (at === null || now >= at + REJECTED_MS || (await tx.questions.hasHeard({ agentId: agent.id, after: at }))) return;
  throw new SubstratError(
    'forbidden',
    `A person rejected this call of ${tool} at ${new Date(at).toISOString()}. Do not repeat it; do something else or end your turn.`,
  );
}
