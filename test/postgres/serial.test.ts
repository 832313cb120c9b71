import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../src/core/agent.ts';
import type { Channel } from '../../src/core/channel.ts';
import { messagesOfRuns } from '../../src/daemon/correspondence.ts';
import { createChannel, findDm } from '../../src/messaging/channels.ts';
import { send, sendAsPerson } from '../../src/messaging/send.ts';
import { speak } from '../../src/messaging/speak.ts';
import { createAgent, terminateAgent } from '../../src/messaging/tree.ts';
import type { ActiveAttempt } from '../../src/runs/attempt.ts';
import { cancelRun, completeRun } from '../../src/runs/endings.ts';
import { startRun } from '../../src/runs/start.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { starting } from '../helpers/starting.ts';

const USER = { id: 'user', handle: 'user' };
const RULES = {
  questionDeadlineMs: 86_400_000,
  requestDeadlineMs: 60_000,
  maxChainDepth: 3,
  maxTreeRuns: 1000,
  people: { runsPerDay: () => 100, timeZone: () => 'UTC' },
};
/** Lead has two children from the beginning: one more may be spawned. */
const LIMITS = { maxChildren: 3, maxDepth: 5, maxAgents: 1_000 };
const NOW = 1000;
const NAMES = ['lead', 'ann', 'ben'] as const;
const HISTORIES = 12;
/** Executions of an order, or of its beginning. */
const MOST_TRIALS = 1_000;

/** A small team of its own: its lead's run is under way. */
interface Team {
  readonly nodeId: string;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly channel: Channel;
  readonly attempt: ActiveAttempt;
}

async function create(tx: Tx, nodeId: string, name: string, parent: Agent | null): Promise<Agent> {
  const settings = { role: 'worker', instructions: '', provider: 'test', model: null, program: null, tools: null };
  const place = { workspace: '/tmp', workspaceId: null, nodeId, spawnedBy: null };
  return createAgent(tx, LIMITS, { name, parent, ...settings, ...place }, NOW);
}

async function claim(tx: Tx, nodeId: string): Promise<ActiveAttempt | null> {
  const filter = { nodeId, now: NOW, maxTreeRuns: 1_000_000, spent: [], busyAgents: [], fullProviders: [] };
  const claimant = { suspectFrom: null, leaseMs: 60_000, boot: 'boot', incarnation: 'i' };
  const run = await tx.runs.claimRun({ ...filter, ...claimant });
  const started = run && (await startRun(tx, run, NOW, starting));
  return started && 'attempt' in started ? started.attempt : null;
}

async function found(tx: Tx, id: string): Promise<Team> {
  const lead = await create(tx, id, `lead-${id}`, null);
  const [ann, ben] = [await create(tx, id, 'ann', lead), await create(tx, id, 'ben', lead)];
  const agents = new Map(NAMES.map((name, i) => [name, [lead, ann, ben][i] as Agent]));
  const wanted = { id: `general-${id}`, kind: 'public', topic: '', memberIds: ['user', ann.id, ben.id] } as const;
  const channel = await createChannel(tx, wanted, 'user', NOW);
  await sendAsPerson(tx, RULES, USER, lead, { text: 'begin', inReplyTo: null }, NOW);
  return { nodeId: id, agents, channel, attempt: (await claim(tx, id)) as ActiveAttempt };
}

/** What a writer does. Its outcome is what it says, or the code of its error. */
type Operation = (tx: Tx, team: Team) => Promise<unknown>;

const agentOf = ({ agents }: Team, name: string) => agents.get(name) as Agent;
const OPERATIONS: Readonly<Record<string, (text: string) => Operation>> = {
  'ask lead': (text) => (tx, team) =>
    sendAsPerson(tx, RULES, USER, agentOf(team, 'lead'), { text, inReplyTo: null }, NOW),
  'ask ann': (text) => (tx, team) =>
    sendAsPerson(tx, RULES, USER, agentOf(team, 'ann'), { text, inReplyTo: null }, NOW),
  spawn: (text) => (tx, team) => create(tx, team.nodeId, `new-${text}`, agentOf(team, 'lead')),
  'spawn twin': () => (tx, team) => create(tx, team.nodeId, 'twin', agentOf(team, 'lead')),
  'terminate ann': () => (tx, team) => terminateAgent(tx, agentOf(team, 'ann'), 'it is over', NOW),
  say: (text) => (tx, team) => speak(tx, RULES, { ...USER, run: null }, team.channel, { text }, NOW),
  tell: (text) => async (tx, team) => {
    const run = await tx.runs.holdRun(team.attempt);
    const agent = (await tx.agents.getAgent({ id: team.attempt.agentId })) as Agent;
    await send(tx, RULES, { agent, run }, { recipient: 'ann', text, sync: true }, NOW);
  },
  end:
    () =>
    (tx, { attempt }) =>
      completeRun(tx, messagesOfRuns, attempt, { finalText: 'done' }, NOW),
  cancel:
    () =>
    (tx, { attempt }) =>
      cancelRun(tx, messagesOfRuns, attempt.runId, 'by a person', NOW),
  claim: () => async (tx, team) => {
    const attempt = await claim(tx, team.nodeId);
    return [...team.agents].find(([, { id }]) => id === attempt?.agentId)?.[0] ?? null;
  },
};

/** Only `claim` has an outcome of its own: ids differ. */
async function outcomeOf(kind: string, done: Promise<unknown>): Promise<string> {
  try {
    const value = await done;
    return kind === 'claim' ? `${value}` : 'done';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** All that people and agents can see of a team, without ids and with names in place of handles. */
async function look(tx: Tx, team: Team): Promise<string> {
  const lead = agentOf(team, 'lead');
  const agents = await tx.agents.listSubtree({ id: lead.id });
  const seen = [];
  for (const { id, name } of agents.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const run = await tx.runs.getLiveRun({ agentId: id });
    const pending = await tx.deliveries.listPending({ agentId: id, limit: 99 });
    const places = await tx.rounds.listPlacesOf({ agentId: id });
    const carried = run ? await tx.deliveries.listDeliveriesOfRun({ runId: run.id }) : [];
    const dm = await findDm(tx, { id }, USER);
    const written = dm ? await tx.messages.listChannelMessages({ channelId: dm.id, before: 2 ** 50, limit: 99 }) : [];
    seen.push({
      name,
      terminated: (await tx.agents.getAgent({ id }))?.terminatedAt !== null,
      run: run && { state: run.state, attempt: run.attempt },
      carried: carried.map(({ text, state }) => `${text}: ${state}`).toSorted(),
      pending: pending.map(({ text, deliveryKind }) => `${text}: ${deliveryKind}`),
      places: places.map(({ state }) => state),
      dm: written.map(({ text }) => text),
      open: (await tx.requests.listOpenRequestsTo({ recipientId: id })).length,
    });
  }
  const said = await tx.messages.listChannelMessages({ channelId: team.channel.id, before: 2 ** 50, limit: 99 });
  const sleepers = await tx.runs.listSleepers({ nodeId: team.nodeId });
  const all = { seen, said: said.map(({ text }) => text), sleepers: sleepers.length };
  const handles = new RegExp(`(lead-${team.nodeId}\\.)?\\b(ann|ben|twin)\\b(\\.\\d+)?`, 'g');
  return JSON.stringify(all).replaceAll(handles, '$2').replaceAll(team.nodeId, 'x');
}

interface Step {
  readonly kind: string;
  readonly run: Operation;
  readonly outcome: string;
}

/** A team on SQLite, where there is one writer. */
interface Model {
  readonly store: Store;
  readonly team: Team;
}

/** One order on the model, which then is as before: how far the outcomes are the same, and what it comes to. */
async function inOrder({ store, team }: Model, steps: readonly Step[]): Promise<{ same: number; state: string }> {
  const answer = { same: 0, state: '' };
  const undo = new Error('nothing of this is kept');
  await store
    .write(async (tx) => {
      for (const { kind, run, outcome } of steps) {
        if ((await outcomeOf(kind, run(tx, team))) !== outcome) throw undo;
        answer.same += 1;
      }
      answer.state = await look(tx, team);
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return answer;
}

/** Whether some order of the steps has their outcomes and comes to `state`. Orders that begin wrongly are left out. */
async function someOrder(model: Model, steps: readonly Step[], state: string): Promise<boolean> {
  let trials = 0;
  const extend = async (begun: readonly Step[], rest: readonly Step[]): Promise<boolean> => {
    if (rest.length === 0) return true;
    for (const next of rest) {
      trials += 1;
      if (trials > MOST_TRIALS) return false;
      const left = rest.filter((step) => step !== next);
      const { same, state: reached } = await inOrder(model, [...begun, next]);
      if (same <= begun.length) continue;
      if (left.length === 0 ? reached === state : await extend([...begun, next], left)) return true;
    }
    return false;
  };
  return (await inOrder(model, steps)).state === state || extend([], steps);
}

describeOnPostgres('random histories of eight writers', () => {
  let stores: Store[];
  let model: Model;

  beforeAll(async () => {
    const { url, drop } = await createDatabase();
    stores = [];
    for (let i = 0; i < 4; i += 1) stores.push(await openStore({ url }, { limits: { writers: 4, readers: 2 } }));
    const store = await openStore({ path: ':memory:' });
    model = { store, team: await store.write((tx) => found(tx, 'x')) };
    return async () => {
      await Promise.all([...stores, store].map((one) => one.close()));
      await drop();
    };
  });

  test('come to what some serial order comes to', { timeout: 30_000 }, async () => {
    let histories = 0;
    const kinds = fc.array(fc.constantFrom(...Object.keys(OPERATIONS)), { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(kinds, async (chosen) => {
        histories += 1;
        const id = `x${histories}x`;
        const [first] = stores as [Store];
        const team = await first.write((tx) => found(tx, id));
        const steps: Step[] = [];
        await Promise.all(
          chosen.map(async (kind, i) => {
            const run = OPERATIONS[kind]?.(`${i}`) as Operation;
            const writing = (stores[i % stores.length] as Store).write((tx) => run(tx, team));
            const outcome = await outcomeOf(kind, writing);
            // In the order of answers, which is nearly that of the commits.
            steps.push({ kind, run, outcome });
          }),
        );
        const state = await first.read((tx) => look(tx, team));
        const told = steps.map(({ kind, outcome }) => `${kind}: ${outcome}`).join(', ');
        expect(await someOrder(model, steps, state), `no order gives ${told} and ${state}`).toBe(true);
      }),
      // Another execution of the same history has other outcomes, so it cannot be made smaller.
      { numRuns: HISTORIES, endOnFailure: true },
    );
  });
});
