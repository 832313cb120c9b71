import pg from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Agent } from '../../src/core/agent.ts';
import type { Channel } from '../../src/core/channel.ts';
import { messagesOfRuns } from '../../src/daemon/correspondence.ts';
import { createChannel, resolveChannel } from '../../src/messaging/channels.ts';
import { deleteChannel } from '../../src/messaging/deletion.ts';
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
import { until } from '../helpers/until.ts';

const USER = { id: 'user', handle: 'user' };
const RULES = {
  questionDeadlineMs: 86_400_000,
  requestDeadlineMs: 60_000,
  maxChainDepth: 3,
  maxTreeRuns: 1000,
  people: { runsPerDay: () => 100, timeZone: () => 'UTC' },
};
const LIMITS = { maxChildren: 2, maxDepth: 5, maxAgents: 100 };
const NODE = 'node';
const NOW = 1000;
const ROUNDS = 12;

/**
 * The races of writers that only a lock for all of them used to prevent: eight writers on four connections pools, each
 * race many times.
 */
describeOnPostgres('eight writers at once', () => {
  let stores: Store[];
  let url: string;
  let next = 0;
  /** Each write is another node's. */
  const write = <T>(work: (tx: Tx) => Promise<T>, ...like: string[]): Promise<T> => {
    next += 1;
    return (stores[next % stores.length] as Store).write(work, ...like);
  };
  const read: Store['read'] = (work) => (stores[0] as Store).read(work);

  beforeEach(async () => {
    const { url: created, drop } = await createDatabase();
    url = created;
    stores = [];
    for (let i = 0; i < 4; i += 1) stores.push(await openStore({ url }, { limits: { writers: 4, readers: 2 } }));
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await drop();
    });
  });

  const create = (name: string, parent: Agent | null = null) =>
    write((tx) =>
      createAgent(
        tx,
        LIMITS,
        {
          ...{ name, parent, role: 'worker', instructions: '', provider: 'test', model: null, program: null },
          ...{ workspace: '/tmp', workspaceId: null, tools: null, nodeId: NODE, spawnedBy: null },
        },
        NOW,
      ),
    );
  const ask = (agent: Agent, text = 'please') =>
    write((tx) => sendAsPerson(tx, RULES, USER, agent, { text, inReplyTo: null }, NOW), `post to ${agent.id}`);
  /** Claims the next run and starts its attempt; null if there is none. */
  const begin = () =>
    write(async (tx) => {
      const filter = { nodeId: NODE, now: NOW, maxTreeRuns: 1_000_000, spent: [], busyAgents: [], fullProviders: [] };
      const run = await tx.runs.claimRun({
        ...filter,
        suspectFrom: null,
        leaseMs: 60_000,
        boot: 'boot',
        incarnation: 'i',
      });
      const started = run && (await startRun(tx, run, NOW, starting));
      return started && 'attempt' in started ? started.attempt : null;
    });
  const end = (attempt: ActiveAttempt) =>
    write((tx) => completeRun(tx, messagesOfRuns, attempt, { finalText: 'done' }, NOW), `end of ${attempt.agentId}`);
  const sleepers = () => read((tx) => tx.runs.listSleepers({ nodeId: NODE }));
  /** Runs all that can run. */
  const drain = async () => {
    for (let attempt = await begin(); attempt; attempt = await begin()) await end(attempt);
  };
  const fulfilled = <T>(outcomes: readonly PromiseSettledResult<T>[]) =>
    outcomes.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
  const codes = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
    outcomes.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { code?: string }).code] : []));

  /**
   * Two writes that meet: each has sent all of its statements and does not commit until the other has done so too, or
   * waits for a lock.
   */
  const meet = async (url: string, ...works: readonly ((tx: Tx) => Promise<unknown>)[]) => {
    const prompt = new pg.Client({ connectionString: url });
    await prompt.connect();
    const there = new Set<unknown>();
    const isMet = async () =>
      there.size === works.length || (await prompt.query('select from pg_locks where not granted')).rowCount !== 0;
    await Promise.all(
      works.map((work) =>
        write(async (tx) => {
          await work(tx);
          // A read: everything that waits is sent before it.
          await tx.runs.listSleepers({ nodeId: NODE });
          there.add(work);
          await until('both have written, or one waits', isMet);
        }),
      ),
    );
    await prompt.end();
  };

  test('news to an agent is not forgotten although its run ends at the same moment', async () => {
    const lead = await create('lead');
    const worker = await create('worker', lead);
    await ask(lead);
    await ask(worker);
    const attempts = [(await begin()) as ActiveAttempt, (await begin()) as ActiveAttempt];
    const [ending, telling] = [lead, worker].map(({ id }) => attempts.find(({ agentId }) => agentId === id));
    // In another channel than the reply of the run that ends: its lock would be enough.
    const tell = async (tx: Tx) => {
      const run = await tx.runs.holdRun(telling as ActiveAttempt);
      return send(tx, RULES, { agent: worker, run }, { recipient: 'lead', text: 'news', sync: false }, NOW);
    };
    const end = (tx: Tx) => completeRun(tx, messagesOfRuns, ending as ActiveAttempt, { finalText: 'done' }, NOW);
    await meet(url, end, tell);
    expect(await read((tx) => tx.deliveries.listPending({ agentId: lead.id, limit: 9 }))).toHaveLength(1);
    expect(await read((tx) => tx.runs.getLiveRun({ agentId: lead.id }))).not.toBeNull();
    expect(await sleepers()).toEqual([]);
  });

  test('a post in a channel is not lost although a member ends its turn at the same moment', async () => {
    const ann = await create('ann');
    const wanted = { id: 'general', kind: 'public', topic: '', memberIds: ['user', ann.id] } as const;
    const channel = await write((tx) => createChannel(tx, wanted, 'user', NOW));
    const say = (text: string) => (tx: Tx) => speak(tx, RULES, { ...USER, run: null }, channel, { text }, NOW);
    await write(say('first'));
    const attempt = (await begin()) as ActiveAttempt;
    await meet(url, (tx) => completeRun(tx, messagesOfRuns, attempt, { finalText: 'done' }, NOW), say('second'));
    await drain();
    expect(await read((tx) => tx.rounds.listPlacesOf({ agentId: ann.id }))).toEqual([]);
    expect(await read((tx) => tx.deliveries.listPending({ agentId: ann.id, limit: 9 }))).toEqual([]);
    const runs = await read((tx) => tx.runs.listCompleted({ agentId: ann.id, after: 0, limit: 9 }));
    expect(runs).toHaveLength(2);
  });

  test('news to an agent whose run ends is never forgotten', async () => {
    const agent = await create('lead');
    for (let round = 0; round < ROUNDS; round += 1) {
      await ask(agent);
      const attempt = (await begin()) as ActiveAttempt;
      await Promise.all([...Array.from({ length: 4 }, () => ask(agent)), end(attempt), ask(agent), ask(agent)]);
      expect(await sleepers()).toEqual([]);
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: agent.id }))).not.toBeNull();
      await drain();
      expect(await read((tx) => tx.deliveries.listPending({ agentId: agent.id, limit: 9 }))).toEqual([]);
    }
  });

  test('a cancelled run sends nothing more', async () => {
    const lead = await create('lead');
    const worker = await create('worker', lead);
    for (let round = 0; round < ROUNDS; round += 1) {
      await ask(lead);
      const attempt = (await begin()) as ActiveAttempt;
      const call = (i: number) =>
        write(async (tx) => {
          const run = await tx.runs.holdRun(attempt);
          const agent = (await tx.agents.getAgent({ id: lead.id })) as Agent;
          const message = { recipient: 'worker', text: `${round}.${i}`, sync: false };
          return send(tx, RULES, { agent, run }, message, NOW);
        });
      const cancel = () => write((tx) => cancelRun(tx, messagesOfRuns, attempt.runId, 'by a person', NOW));
      const calls = await Promise.allSettled([call(0), call(1), call(2), cancel(), call(3), call(4), call(5), call(6)]);
      expect(new Set(codes(calls))).toEqual(codes(calls).length > 0 ? new Set(['fenced']) : new Set());
      const events = await read((tx) => tx.events.listEvents({ after: 0, limit: 10_000 }));
      const ended = events.findIndex(({ type, data }) => type === 'run_ended' && data.runId === attempt.runId);
      expect(ended).toBeGreaterThan(0);
      for (const { type, data } of events.slice(ended)) {
        if (type !== 'message_created') continue;
        const message = await read((tx) => tx.messages.getMessage({ id: data.messageId }));
        expect(message?.runId === attempt.runId && message.kind === 'message').toBe(false);
      }
      await drain();
    }
    expect(await read((tx) => tx.deliveries.listPending({ agentId: worker.id, limit: 9 }))).toEqual([]);
  });

  test('no request to a terminated agent stays open', async () => {
    const lead = await create('lead');
    for (let round = 0; round < ROUNDS; round += 1) {
      const worker = await create(`worker${round}`, lead);
      await ask(worker);
      const end = () => write((tx) => terminateAgent(tx, worker, 'it is over', NOW));
      const asked = await Promise.allSettled([ask(worker), ask(worker), ask(worker), end(), ask(worker), ask(worker)]);
      expect(new Set(codes(asked))).toEqual(codes(asked).length > 0 ? new Set(['terminated']) : new Set());
      expect(await read((tx) => tx.requests.listOpenRequestsTo({ recipientId: worker.id }))).toEqual([]);
      expect(await read((tx) => tx.deliveries.listPending({ agentId: worker.id, limit: 9 }))).toEqual([]);
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: worker.id }))).toBeNull();
    }
  });

  test('a post in a channel reaches every member, whoever ends a turn meanwhile', async () => {
    const members = [await create('ann'), await create('ben'), await create('cleo')];
    const memberIds = ['user', ...members.map(({ id }) => id)];
    const wanted = { id: 'general', kind: 'public', topic: '', memberIds } as const;
    const channel = await write((tx) => createChannel(tx, wanted, 'user', NOW));
    const say = (text: string) =>
      write((tx) => speak(tx, RULES, { ...USER, run: null }, channel, { text }, NOW), 'post in general');
    for (let round = 0; round < ROUNDS; round += 1) {
      await say(`round ${round}`);
      for (let attempt = await begin(); attempt; attempt = await begin()) {
        const posts = round % 2 === 0 ? [say('a'), say('b')] : [];
        await Promise.all([...posts, end(attempt)]);
        if (round % 2 === 0) break;
      }
      expect(await sleepers()).toEqual([]);
    }
    await drain();
    for (const { id: agentId } of members) {
      expect(await read((tx) => tx.rounds.listPlacesOf({ agentId }))).toEqual([]);
      expect(await read((tx) => tx.deliveries.listPending({ agentId, limit: 9 }))).toEqual([]);
    }
    const said = await read((tx) =>
      tx.messages.listChannelMessages({ channelId: 'general', before: 2 ** 50, limit: 100 }),
    );
    expect(said).toHaveLength(ROUNDS * 2);
    expect(said.map(({ seq }) => seq)).toEqual(said.map(({ seq }) => seq).toSorted((a, b) => b - a));
  });

  test('a post in a channel that is deleted at the same moment is stored before, or finds no channel', async () => {
    const members = [await create('ann'), await create('ben')];
    const memberIds = ['user', ...members.map(({ id }) => id)];
    const person = { ...USER, admin: true };
    // Few, because writers that meet a deletion wait for the server to find their deadlock, a second each time.
    for (let round = 0; round < 3; round += 1) {
      const id = `c${round}`;
      const made = await write((tx) => createChannel(tx, { id, kind: 'public', topic: '', memberIds }, 'user', NOW));
      const find = (tx: Tx) => resolveChannel(tx, person, id, NOW);
      const say = (channel: (tx: Tx) => Promise<Channel>) =>
        write(
          async (tx) => speak(tx, RULES, { ...USER, run: null }, await channel(tx), { text: 'Hello' }, NOW),
          ...(round % 2 === 0 ? [] : [`post in ${id}`]),
        );
      // What was read before a write may be old.
      const known = async () => made;
      await say(find);
      const remove = () => write(async (tx) => deleteChannel(tx, await find(tx), NOW));
      const writers = [say(find), say(known), say(find), remove(), say(known), say(find), remove(), say(find)];
      const outcomes = await Promise.allSettled(writers);
      expect(codes(outcomes).filter((code) => code !== 'not_found')).toEqual([]);
      expect(await read((tx) => tx.channels.getChannel({ id }))).toBeNull();
      const rest = await read((tx) => tx.messages.listChannelMessages({ channelId: id, before: 2 ** 50, limit: 9 }));
      expect(rest).toEqual([]);
      await drain();
      expect(await sleepers()).toEqual([]);
      for (const { id: agentId } of members) {
        expect(await read((tx) => tx.deliveries.listPending({ agentId, limit: 9 }))).toEqual([]);
        expect(await read((tx) => tx.rounds.listPlacesOf({ agentId }))).toEqual([]);
      }
    }
  });

  test('no cap is exceeded, and a name is given once', async () => {
    const lead = await create('lead');
    const spawned = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => create(`w${i}`, lead)));
    expect(fulfilled(spawned)).toHaveLength(LIMITS.maxChildren);
    expect(new Set(codes(spawned))).toEqual(new Set(['cap_reached']));
    expect(await read((tx) => tx.agents.countChildren({ id: lead.id }))).toBe(LIMITS.maxChildren);
    const roots = await Promise.allSettled(Array.from({ length: 8 }, () => create('boss')));
    expect(fulfilled(roots)).toHaveLength(1);
    expect(new Set(codes(roots))).toEqual(new Set(['name_taken']));
  });

  test('two that write to each other for the first time get one DM, and handles are unique', async () => {
    const leads = await Promise.all(['a', 'b', 'c', 'd'].map((name) => create(name)));
    const workers = await Promise.all(leads.map((lead) => create('worker', lead)));
    expect(new Set(workers.map(({ handle }) => handle)).size).toBe(4);
    const [worker] = workers as [Agent];
    await Promise.all(Array.from({ length: 8 }, (_, i) => ask(worker, `${i}`)));
    const dms = await read((tx) =>
      tx.channels.listChannels({ participantId: worker.id, all: false, after: '', limit: 99 }),
    );
    expect(dms.filter(({ kind }) => kind === 'dm')).toHaveLength(1);
  });
});
