import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Agent } from '../../src/core/agent.ts';
import type { BudgetPeriod, BudgetScope, BudgetUnit } from '../../src/core/budget.ts';
import type { Wake } from '../../src/core/channel.ts';
import type { FailureKind } from '../../src/core/failure.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { CarriedMessage, JournalEntry } from '../../src/core/run.ts';
import type { Settings } from '../../src/core/settings.ts';
import { messagesOfRuns } from '../../src/daemon/correspondence.ts';
import { createTeamwork, type Teamwork } from '../../src/daemon/teamwork.ts';
import { createKnowledge } from '../../src/knowledge/knowledge.ts';
import { bindTools } from '../../src/mcp/bound.ts';
import { createChannel, resolveChannel } from '../../src/messaging/channels.ts';
import { resolveParticipant, setWake } from '../../src/messaging/members.ts';
import { decide } from '../../src/messaging/questions.ts';
import { sendAsPerson } from '../../src/messaging/send.ts';
import { speak } from '../../src/messaging/speak.ts';
import { createAgent } from '../../src/messaging/tree.ts';
import type { Provider, ProviderEvent, Turn } from '../../src/providers/provider.ts';
import type { ActiveAttempt } from '../../src/runs/attempt.ts';
import { listBudgets } from '../../src/runs/budget-settings.ts';
import { cancelRun } from '../../src/runs/endings.ts';
import { openStore } from '../../src/store/open.ts';
import { type CallResult, callTool } from '../../src/tools/call.ts';
import { takeSharedDatabase } from './engine.ts';
import { writeTwice } from './repeating-store.ts';
import type { WorldOptions } from './world-options.ts';

export type { WorldOptions } from './world-options.ts';

/** One turn as a behaviour sees it. */
export interface WorldTurn {
  readonly name: string;
  readonly instructions: string;
  readonly model: string | null;
  readonly prompt: string;
  readonly messages: readonly CarriedMessage[];
  readonly journal: readonly JournalEntry[];
  readonly session: string | null;
  readonly runId: string;
  /** What executes it: `provider`, or `provider/account`. */
  readonly seat: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Calls a tool; an error of the tool is thrown, starting with its code. */
  call(tool: string, args?: object): Promise<Record<string, unknown>>;
  callRaw(tool: string, args?: unknown): Promise<CallResult | null>;
  /** The messages that arrive during the turn, as a provider gets them that inserts them. */
  readonly news: Turn['news'];
  /** Its tools, as a provider in this process gets them. */
  readonly tools: Turn['tools'];
  /** Judges calls of tools of its own. */
  readonly guard: Turn['guard'];
  /** What was used so far is charged, and the turn stops if a budget is used up. */
  readonly checkBudgets: () => Promise<void>;
  /** Asks and counts like the proxy. */
  readonly admit: Turn['admit'];
  readonly meter: Turn['meter'];
  /** Emits an event like a program; resolves when the daemon asks for more. */
  tell(event: ProviderEvent): Promise<void>;
}

/** What an agent does in a turn: returns its final text, or a failure. */
export type Behaviour = (turn: WorldTurn) => string | Failing | Promise<string | Failing>;

export interface Failing {
  readonly failure: FailureKind;
  readonly message?: string;
  readonly retryAfterMs?: number;
  readonly exhausted?: true;
  readonly metered?: true;
}

const NODE = 'node-1';
const RETRIEVAL = { mode: null, finalLimit: 12, candidates: 80, fusion: 'weighted', hybridAlpha: 0.6 } as const;
const USER = { id: 'user', handle: 'user' };
/**
 * Everything between a post and the end of a run, wired by `createTeamwork` as in the daemon, on a real store. The provider runs
 * functions of the test instead of programs, and time only passes when the test says so.
 */
export async function createWorld(options: WorldOptions = {}) {
  const database = options.store ? null : await takeSharedDatabase();
  const store = options.store ?? (await openStore(database ?? { path: ':memory:' }));
  if (!options.store && !options.writesOnce) writeTwice(store);
  let now = 1_800_000_000_000;
  let passed = 0;
  const clock = options.clock ?? (() => now);
  let boot = 'a boot';
  const log = { warn: () => {}, error: (details: object) => console.error(details), info: () => {} };
  const behaviours = new Map<string, Behaviour>();
  const attempts = new Map<string, ActiveAttempt>();
  const limits = {
    maxChildren: options.maxChildren ?? 100,
    maxDepth: options.maxDepth ?? 100,
    maxAgents: options.maxAgents ?? 1000,
    maxTreeRuns: options.maxTreeRuns ?? 1_000_000,
    maxChainDepth: options.maxChainDepth ?? 3,
    maxWorkspaces: 3,
    maxLinks: 3,
    firstDayTokens: options.firstDayTokens ?? 0,
    toolCallsPerMinute: options.toolCallsPerMinute ?? 1_000_000,
  };
  const policies = [...(options.policies ?? [])];
  const settingsOf = (name: string) => ({
    slots: null,
    prices: null,
    quietAfter: null,
    stalledAfter: null,
    accounts: Object.fromEntries((options.accounts?.[name] ?? []).map((account) => [account, { env: {} }])),
  });
  const config = {
    limits,
    daemon: {
      slots: options.slots ?? 4,
      defaultProvider: null,
      turnTimeoutMs: 60_000,
      requestDeadlineMs: options.requestDeadlineMs ?? 86_400_000,
      questionDeadlineMs: options.questionDeadlineMs ?? 7 * 86_400_000,
      maxAttempts: options.maxAttempts ?? 3,
      maxDeaths: options.maxDeaths ?? 3,
      leaseMs: 30_000,
      timeZone: options.timeZones?.user ?? 'UTC',
      checks: [],
      quietAfterMs: options.progress?.quietMs ?? Number.POSITIVE_INFINITY,
      stalledAfterMs: options.progress?.stalledMs ?? Number.POSITIVE_INFINITY,
    },
    people: Object.fromEntries(
      Object.entries(options.runsPerDay ?? {}).map(([handle, runsPerDay]) => [
        handle,
        { runsPerDay, timeZone: options.timeZones?.[handle] ?? null, budget: null },
      ]),
    ),
    policies,
    notify: { url: null, secret: null, ntfy: null, ntfyToken: null, includeText: false },
    sandbox: { roots: [], network: [] },
    providers: {
      ...Object.fromEntries(Object.keys(options.accounts ?? {}).map((name) => [name, settingsOf(name)])),
      test: {
        ...settingsOf('test'),
        slots: options.providerSlots?.test ?? null,
        prices: {
          every: { input: 1, output: 2 },
          models: { dear: { input: 10, output: 20 } },
          source: null,
          asOf: null,
        },
      },
    },
  };
  const home = mkdtempSync(join(tmpdir(), 'world-'));
  mkdirSync(join(home, 'workspaces'));

  const callFor = (attempt: ActiveAttempt, connection = { given: new Set<string>() }) => ({
    callRaw: (tool: string, args: unknown = {}) => callTool(teamwork.tools, attempt, tool, args, connection),
    call: async (tool: string, args: object = {}) => {
      const result = await callTool(teamwork.tools, attempt, tool, args, connection);
      if (!result) throw new Error(`unknown tool ${tool}`);
      if (!result.isError) return { ...result.result };
      const { code, message } = result.result.error as { code: string; message: string };
      throw new Error(`${code}: ${message}`);
    },
  });

  async function* play(seat: string, turn: Turn): AsyncGenerator<ProviderEvent> {
    const attempt = attempts.get(turn.runId) as ActiveAttempt;
    const behave = behaviours.get(turn.name) ?? (() => `${turn.name} has nothing to say`);
    const {
      name,
      instructions,
      model,
      prompt,
      messages,
      journal,
      session,
      runId,
      signal,
      tools,
      guard,
      news,
      admit,
      meter,
    } = turn;
    const begun = { name, instructions, model, prompt, messages, journal, session };
    const view = {
      ...begun,
      runId,
      signal,
      tools,
      guard,
      news,
      admit,
      meter,
      attempt: attempt.number,
      seat,
      checkBudgets: () => attempt.checkBudgets(),
    };
    const { promise: aborted, resolve } = Promise.withResolvers<Failing>();
    signal.addEventListener('abort', () => resolve({ failure: 'cancelled' }));
    const told: { event: ProviderEvent; taken: () => void }[] = [];
    let heard = Promise.withResolvers<void>();
    const tell = (event: ProviderEvent) =>
      new Promise<void>((taken) => {
        told.push({ event, taken });
        heard.resolve();
      });
    const behaving = async (): Promise<string | Failing> => behave({ ...view, ...callFor(attempt), tell });
    const crashed = (error: Error): Failing => ({ failure: 'crash', message: error.message });
    const end = Promise.race([behaving().catch(crashed), aborted]);
    let said: string | Failing | undefined;
    while (said === undefined) {
      said = await Promise.race([end, heard.promise.then(() => undefined)]);
      heard = Promise.withResolvers<void>();
      for (let next = told.shift(); next; next = told.shift()) {
        yield next.event;
        next.taken();
      }
    }
    if (typeof said === 'string') {
      yield { type: 'done', text: said };
      return;
    }
    const { failure: kind, message = kind, ...more } = said;
    yield { type: 'error', kind, message, ...more };
  }
  const providerOf = (seat: string): Provider => ({
    about: { name: 'test', settings: () => ({}) },
    unjudged: options.unjudged?.[seat.split('/')[0] ?? ''] ?? [],
    runTurn: (turn) => play(seat, turn),
  });

  const createTeam = (): Teamwork => {
    const created = createTeamwork({
      store,
      clock,
      monotonic: () => passed,
      config,
      home: { path: home, nodeId: NODE },
      providers: { get: providerOf },
      isReady: () => true,
      sandbox: { mode: 'bwrap' },
      git: async () => Promise.reject(new Error('no git here')),
      knowledge: createKnowledge({ store, configured: [], retrieval: RETRIEVAL, embedder: null }),
      passageMeaning: null,
      extensions: {
        personas: async () => Promise.reject(new Error('no personas here')),
        customTools: async () => options.customTools ?? [],
        onCustomToolsChange: () => () => {},
      },
      boot,
      incarnation: randomUUID(),
      pollMs: options.shared ? 60_000 : null,
      timers: new Map(Object.entries(options.timers ?? {})),
      openDoor: async (attempt) => {
        attempts.set(attempt.runId, attempt);
        options.beforeTurn?.();
        const agent = () => store.read((tx) => tx.agents.getAgent({ id: attempt.agentId }));
        return {
          tools: async () => bindTools(created.tools, (await agent()) as Agent, async () => attempt),
          launch: { mcpConfig: '', countTools: async () => 0, home: '', confine: async (command) => command },
          exceeded: new AbortController().signal,
          activity: () => options.activity?.() ?? { cpuMs: null, bytes: null },
          close: async () => options.onClose?.(),
        };
      },
      onAgentCreated: async () => {},
      onClaimed: () => {},
      onTerminated: async () => {},
      onTurnEnded: options.onTurnEnded ?? (() => {}),
      stopAfterMs: options.stopAfterMs ?? 60_000,
      saveSession: async () => null,
      saveWork: async () => null,
      watch: () => () => {},
      tracer: null,
      log,
    });
    return created;
  };
  let teamwork = createTeam();
  const { rules, workspaces } = teamwork.tools.settings;
  teamwork.scheduler.start();
  onTestFinished(async () => {
    await teamwork.scheduler.stop();
    if (!options.store) await store.close();
    await database?.giveBack();
    rmSync(home, { recursive: true });
  });

  // SQLite works in this thread. While a server works, a busy loop would take its time.
  const letWork = () => (store.engine === 'postgres' ? pause(1) : new Promise((resolve) => setImmediate(resolve)));

  const agentNamed = async (name: string): Promise<Agent> => {
    const [agent] = await store.read((tx) => tx.agents.listAgentsNamed({ nameKey: name.toLowerCase() }));
    if (!agent) throw new Error(`no agent ${name}`);
    return agent;
  };

  return {
    store,
    clock,
    rules,
    workspaces,
    /** As if the daemon had been started with these. */
    setPolicies: (wanted: readonly Policy[]) => void policies.splice(0, policies.length, ...wanted),
    scheduler: () => teamwork.scheduler,
    agentNamed,
    behave: (name: string, behaviour: Behaviour) => void behaviours.set(name, behaviour),
    create: (
      name: string,
      parent: Agent | null = null,
      more: {
        provider?: string;
        model?: string;
        maySpawn?: string[];
        fallback?: string[];
        tools?: string[];
        program?: string;
        workspace?: string;
        workspaceId?: string;
        nodeId?: string;
      } = {},
    ) =>
      store.write((tx) =>
        createAgent(
          tx,
          limits,
          {
            name,
            parent,
            role: 'worker',
            instructions: `You are ${name}.`,
            provider: more.provider ?? 'test',
            model: more.model ?? null,
            maySpawn: more.maySpawn,
            fallback: more.fallback,
            program: more.program ?? null,
            workspace: more.workspace ?? '/tmp',
            workspaceId: more.workspaceId ?? null,
            tools: more.tools ?? null,
            nodeId: more.nodeId ?? NODE,
            spawnedBy: null,
          },
          now,
        ),
      ),
    /** A person asks. */
    ask: async (name: string, text: string, inReplyTo?: string) => {
      const agent = await agentNamed(name);
      return store.write(
        async (tx) => (await sendAsPerson(tx, rules, USER, agent, { text, inReplyTo }, now)).messageId,
        `post to ${name}`,
      );
    },
    /** A person other than the owner. */
    person: async (handle: string) => {
      const id = `person-${handle}`;
      await store.write((tx) => tx.participants.insertPerson({ id, handle, handleKey: handle, at: now }));
      const who = { id, handle };
      return {
        ask: async (name: string, text: string) => {
          const agent = await agentNamed(name);
          return store.write(async (tx) => (await sendAsPerson(tx, rules, who, agent, { text }, now)).messageId);
        },
        say: (channelId: string, text: string) =>
          store.write(async (tx) => {
            const channel = await resolveChannel(tx, who, channelId, now);
            return (await speak(tx, rules, { ...who, run: null }, channel, { text }, now)).messageId;
          }),
      };
    },
    /** The same, with its outcome; null asks a new question. */
    tell: async (name: string, text: string, inReplyTo?: string | null) => {
      const agent = await agentNamed(name);
      return store.write((tx) => sendAsPerson(tx, rules, USER, agent, { text, inReplyTo }, now));
    },
    /** A channel with these members, in this order, plus the owner. */
    channel: (id: string, members: readonly string[], kind: 'public' | 'private' = 'public') =>
      store.write(async (tx) => {
        const ids = [];
        for (const name of members) ids.push((await resolveParticipant(tx, name)).id);
        return createChannel(tx, { id, kind, topic: '', memberIds: [USER.id, ...ids] }, USER.id, now);
      }),
    wake: (channelId: string, name: string, wake: Wake) =>
      store.write(async (tx) => {
        const channel = await resolveChannel(tx, USER, channelId, null);
        const { id: participantId } = await resolveParticipant(tx, name);
        await setWake(tx, channel, USER.id, { participantId, wake }, now);
      }),
    /** A person posts in a channel. */
    say: (channelId: string, text: string, thread?: string) =>
      store.write(async (tx) => {
        const channel = await resolveChannel(tx, USER, channelId, now);
        return (await speak(tx, rules, { ...USER, run: null }, channel, { text, thread }, now)).messageId;
      }),
    /** The messages of a channel, in order, as `handle: text`. */
    said: async (channelId: string) => {
      const rows = await store.read((tx) =>
        tx.messages.listChannelMessages({ channelId, before: 2 ** 50, limit: 100 }),
      );
      return rows.reverse().map(({ handle, text }) => `${handle}: ${text}`);
    },
    /** Runs until nothing is left that could run now. */
    settle: async () => {
      const lastEvent = () => store.read((tx) => tx.events.getEventCounter());
      let before: number;
      do {
        before = await lastEvent();
        await teamwork.scheduler.tick();
        while (teamwork.scheduler.liveRuns().length > 0) await letWork();
        // A run can start and end within a tick: only a round without events is the last one.
      } while ((await lastEvent()) !== before);
      const asleep = await store.read((tx) => tx.runs.listSleepers({ nodeId: NODE }));
      if (asleep.length > 0) throw new Error(`nobody woke ${asleep.map(({ id }) => id).join(', ')}`);
    },
    tick: () => teamwork.scheduler.tick(),
    pass: async (ms: number) => {
      now += ms;
      passed += ms;
      await teamwork.scheduler.tick();
    },
    /** Sets the clock; no time passes. */
    setClock: async (ms: number) => {
      now += ms;
      await teamwork.scheduler.tick();
    },
    reply: async (id: string) => {
      const replies = await store.read((tx) => tx.messages.listReplies({ id }));
      const request = await store.read((tx) => tx.requests.getRequest({ id }));
      const closing = replies.find((reply) => reply.id === request?.replyId);
      return { state: request?.state, text: closing?.text, kind: closing?.kind, count: replies.length };
    },
    view: async (name: string) => {
      const { id } = await agentNamed(name);
      const view = await store.read((tx) => tx.agents.getAgentView({ id }));
      if (!view) throw new Error(`no view of ${name}`);
      return view;
    },
    /** The owner sets a limit on an agent, its subtree or a person. */
    budget: async (scope: BudgetScope, name: string, unit: BudgetUnit, amount: number, period?: BudgetPeriod) => {
      const subjectId =
        scope === 'person' ? (name === 'user' ? 'user' : `person-${name}`) : (await agentNamed(name)).id;
      const wish = { scope, subjectId, unit, amount, period: period ?? 'total', origin: 'person' } as const;
      return store.write((tx) => teamwork.setBudget(tx, wish));
    },
    budgets: () => store.read((tx) => listBudgets(tx, now)),
    /** As at a start with the time zones of the options. */
    moveDays: () => store.write((tx) => teamwork.moveDays(tx)),
    openQuestions: () =>
      store.read((tx) => tx.questions.listQuestions({ participantId: null, open: true, before: 2 ** 50, limit: 100 })),
    /** The owner answers a question. */
    answer: (id: string, text: string) =>
      store.write(async (tx) => {
        await decide(tx, rules, { ...USER, token: null }, id, { kind: 'answer', text }, now);
        return teamwork.answerBudget(tx, id, text);
      }),
    cancel: (runId: string) => teamwork.cancelRun(runId, 'A person cancelled the run.'),
    extendRun: (runId: string, ms: number) => teamwork.extendRun(runId, now + ms),
    restartRun: (runId: string) => teamwork.restartRun(runId),
    /** Ends a run in the store only, like another process: its turn continues without knowing. */
    fence: (runId: string) =>
      store.write((tx) => cancelRun(tx, messagesOfRuns, runId, 'Another process ended it.', now)),
    terminate: async (name: string) => teamwork.terminateAgent((await agentNamed(name)).id, 'a person terminated it'),
    join: async (name: string) => {
      const agent = await agentNamed(name);
      const { external } = teamwork;
      const attempt = await external.join(agent.id);
      return { ...callFor(attempt), attempt, leave: () => external.leave(agent.id) };
    },
    /** A person changes settings. */
    change: async (name: string, change: Partial<Settings>, { interrupt = false } = {}) => {
      const { id } = await agentNamed(name);
      return teamwork.changeSettings(id, { change: async () => change, expected: null, by: USER.id, interrupt });
    },
    pause: async (name: string, now = false) =>
      teamwork.pauseAgent((await agentNamed(name)).id, { reason: 'a break', now }),
    /** A person resumes a paused agent. */
    resume: async (name: string) => teamwork.resumeAgent((await agentNamed(name)).id),
    /** A new scheduler without the state of the last one. */
    restart: () => {
      teamwork = createTeam();
      teamwork.scheduler.start();
    },
    /** The daemon dies without a clean stop: the next one fences its work and takes over. */
    crash: async ({ reboot = false, died = true } = {}) => {
      const dead = teamwork.scheduler;
      if (reboot) boot = `${boot} and another`;
      const next = createTeam();
      await next.recover(NODE, died);
      teamwork = next;
      await dead.stop();
      next.scheduler.start();
    },
  };
}
