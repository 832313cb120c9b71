import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base, describe, expect } from 'vitest';
import { startDaemon } from '../../test/helpers/daemon.ts';
import { watchLiveBytes } from '../../test/helpers/live-bytes.ts';
import { processesOf } from '../../test/helpers/run-processes.ts';
import type { Command, Needs } from '../core/command.ts';
import type { Conversation, ConversationEntry } from '../core/conversation.ts';
import type { Permission } from '../core/guard.ts';
import type { OwnCall } from '../core/own-tool.ts';
import type { Launch, Provider, ProviderEvent, Turn } from './provider.ts';

/** What `test/fixtures/scenarios.mjs` can play in any provider's dialect. */
export type Scenario =
  | 'answer'
  | 'failing'
  | 'flood'
  | 'garbage'
  | 'grandchild'
  | 'guarded'
  | 'hang'
  | 'invalid_request'
  | 'long_line'
  | 'not_utf8'
  | 'overloaded'
  | 'own_tool'
  | 'passing'
  | 'silent'
  | 'steered'
  | 'stubborn'
  | 'tool';

export interface ProviderSubject {
  readonly name: string;
  /** What it calls the shell of its program, if the program plays a call of it. */
  readonly shell?: string;
  /** Its final text is a text of its own, too, before the end. */
  readonly saysFinal?: boolean;
  /** Asks before it uses its own shell, so policies hold for it. */
  readonly judged?: boolean;
  /** The provider with a program that plays the scenario. */
  playing(scenario: Scenario): Provider;
  /** The provider with this file as its program; only for one that starts a program in each turn. */
  running?(file: string): Provider;
  /** The same as `playing` for a daemon: the settings in its section of the configuration. */
  settings(scenario: Scenario): string;
}

/** Changes to the turn or to what its process needs. */
export type Changes = Partial<Turn & Launch>;

type Run = (scenario: Scenario, changes?: Changes) => Promise<ProviderEvent[]>;

/** The contract of every provider, whatever its program does. */
export function testProvider({
  name,
  shell,
  judged = false,
  saysFinal = false,
  playing,
  running,
  settings,
}: ProviderSubject): void {
  const test = base.extend<{ turn: Turn; run: Run }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures that a fixture needs.
    turn: async ({}, use) => {
      const turn = makeTurn(await mkdtemp(join(tmpdir(), 'provider-')));
      await writeFile(turn.launch.mcpConfig, '{"mcpServers":{}}');
      await use(turn);
      await rm(turn.workspace, { recursive: true });
      expect(processesOf(turn.runId)).toEqual([]);
    },
    run: ({ turn }, use) => use((scenario, changes) => collect(playing(scenario).runTurn(changed(turn, changes)))),
  });

  const ending = (text: string): ProviderEvent[] => [
    ...(saysFinal ? [{ type: 'text' as const, text }] : []),
    { type: 'done', text },
  ];

  describe.concurrent(`provider ${name} in a daemon`, () => {
    base('calls a tool through MCP', async () => {
      expect(JSON.parse(await askThrough(name, settings('tool')))).toEqual({ agents: [] });
    });

    base('goes on after a model error that passes', async () => {
      expect(await askThrough(name, settings('passing'))).toBe('at the second try');
    });

    base('answers with the error that does not pass', async () => {
      expect(await askThrough(name, settings('invalid_request'))).toMatch(
        /No such model.* \(given up after 1 attempts\)/,
      );
    });
  });

  describe.concurrent(`provider ${name}`, () => {
    test('emits the session, the texts and the result of a first turn', async ({ run }) => {
      const events = await run('answer');
      expect(events.filter(({ type }) => type === 'session')).toEqual([
        { type: 'session', session: expect.stringMatching(/./) },
      ]);
      expect(told(events)).toEqual([{ type: 'text', text: 'Thinking.' }, ...ending('started: Say hello.')]);
    });

    test('resumes a session in a fresh process that remembers the first turn', async ({ run }) => {
      const named = (await run('answer')).find((event) => event.type === 'session');
      const session = named?.session ?? '';
      const events = await run('answer', { session, prompt: 'What did I say?' });
      expect(events.at(-1)).toEqual({ type: 'done', text: 'resumed after "Say hello.": What did I say?' });
    });

    test.runIf(shell)('emits a call of its own tool and its result, once each', async ({ run }) => {
      const events = await run('own_tool');
      const isCall = ({ type }: ProviderEvent) => type === 'tool_call' || type === 'tool_result';
      const id = expect.stringMatching(/./);
      const given = expect.objectContaining({ command: expect.stringContaining('ls') });
      expect(events.filter(isCall)).toEqual([
        { type: 'tool_call', id, name: shell, arguments: given },
        { type: 'tool_result', id, result: expect.anything(), isError: false },
      ]);
      expect(events.at(-1)).toEqual({ type: 'done', text: 'listed' });
    });

    test.runIf(judged).for([true, false])(
      'asks before it uses its own shell (allowed: %s)',
      async (allowed, { run }) => {
        const calls: OwnCall[] = [];
        const permit = async (call: OwnCall): Promise<Permission> => {
          calls.push(call);
          return allowed ? { allowed } : { allowed: false, message: 'A person has to approve this call (question q).' };
        };
        const events = await run('guarded', { guard: { permit, verdict: () => (allowed ? 'allow' : 'ask') } });
        expect(events.at(-1)).toEqual({ type: 'done', text: allowed ? 'allowed' : 'refused' });
        expect(calls).toEqual([{ kind: 'shell', input: { command: 'echo made' } }]);
        expect(playing('guarded').unjudged ?? []).toEqual([]);
      },
    );

    test.for(['overloaded', 'invalid_request'] as const)('classifies the error %s', async (kind, { run }) => {
      const error = { type: 'error', kind, message: expect.stringMatching(/Come back later|No such model/) };
      expect(told(await run(kind))).toEqual([expect.objectContaining(error)]);
    });

    test('kills a program that hangs at its timeout', async ({ run }) => {
      const error = { type: 'error', kind: 'timeout', message: expect.stringContaining('1.5 s') };
      expect((await run('hang', { timeoutMs: 1_500 })).at(-1)).toEqual(error);
    });

    test.for(running ? (['hang', 'stubborn'] as const) : (['hang'] as const))(
      'can be cancelled during a turn (%s)',
      async (scenario, { turn }) => {
        const controller = new AbortController();
        const events: ProviderEvent[] = [];
        for await (const event of playing(scenario).runTurn({ ...turn, signal: controller.signal })) {
          events.push(event);
          if (event.type === 'text') controller.abort();
        }
        expect(told(events)).toEqual([
          { type: 'text', text: 'Hanging.' },
          { type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' },
        ]);
      },
    );

    test('starts nothing if it was cancelled before', async ({ run }) => {
      const onSpawn = () => expect.fail('spawned');
      const events = await run('answer', { signal: AbortSignal.abort(), onSpawn });
      expect(events).toEqual([expect.objectContaining({ type: 'error', kind: 'cancelled' })]);
    });

    test('kills the program when the consumer leaves', async ({ turn }) => {
      for await (const event of playing('hang').runTurn(turn)) if (event.type === 'text') break;
      expect(processesOf(turn.runId)).toEqual([]);
    });

    test('inserts messages into a running turn, once', async ({ run, skip }) => {
      skip(!playing('steered').about.steers, 'it does not insert any');
      const taken: string[] = [];
      const arrived = [{ text: 'by the way', taken: () => void taken.push('by the way') }];
      const events = await run('steered', { news: { next: async () => arrived.shift() ?? null } });
      expect(events.at(-1)).toEqual({ type: 'done', text: 'heard: by the way' });
      expect(taken).toEqual(['by the way']);
    });

    if (!running) return;

    test('reports the process group before the program gets its input', async ({ run }) => {
      const groups: unknown[] = [];
      await run('answer', { onSpawn: async (group) => void groups.push(group) });
      expect(groups.at(-1)).toEqual({ pid: expect.any(Number), startedAt: expect.stringMatching(/./) });
    });

    test('throws what onSpawn throws, and the program never gets its input', async ({ run }) => {
      const onSpawn = () => Promise.reject(new Error('fenced'));
      await expect(run('answer', { onSpawn })).rejects.toThrow('fenced');
    });

    test('ignores garbage on stdout', async ({ run }) => {
      expect(told(await run('garbage'))).toEqual(ending('in spite of it'));
    });

    test('treats an exit without a result as a crash, with stderr in the message', async ({ run }) => {
      const message = expect.stringMatching(/code 0[\s\S]*I have nothing to say/);
      expect(told(await run('silent'))).toEqual([{ type: 'error', kind: 'crash', message }]);
    });

    test('ignores a result before a failing exit', async ({ run }) => {
      const message = expect.stringMatching(/code 3[\s\S]*It is not/);
      const before = ending('all is well').slice(0, -1);
      expect(told(await run('failing'))).toEqual([...before, { type: 'error', kind: 'crash', message }]);
    });

    test('carries 10 MB of output', async ({ run }) => {
      const events = await run('flood');
      expect(events.filter((event) => event.type === 'text' && event.text.length === 10_000)).toHaveLength(1000);
      expect(events.at(-1)).toEqual({ type: 'done', text: 'flooded' });
    });

    test('drops a line of 50 MB without buffering it', { concurrent: false }, async ({ run }) => {
      const peak = watchLiveBytes();
      expect(told(await run('long_line'))).toEqual(ending('after a long line'));
      expect(peak()).toBeLessThan(30_000_000);
    });

    test('continues after bytes that are not UTF-8', async ({ run }) => {
      expect(told(await run('not_utf8'))).toEqual([{ type: 'text', text: 'caf\ufffd' }, ...ending('décodé')]);
    });

    test('kills what the program left running', async ({ run, turn }) => {
      expect((await run('grandchild')).at(-1)).toEqual({ type: 'done', text: expect.stringMatching(/^left \d+$/) });
      expect(processesOf(turn.runId)).toEqual([]);
    });

    test('reports a missing program', async ({ turn }) => {
      const message = expect.stringContaining('/nowhere/program');
      const events = await collect(running('/nowhere/program').runTurn(turn));
      expect(events).toEqual([{ type: 'error', kind: 'crash', message }]);
    });

    test('reports a program that is not executable', async ({ turn }) => {
      const file = join(turn.workspace, 'program');
      await writeFile(file, 'text');
      await chmod(file, 0o644);
      const message = `The program ${file} could not be started: it is not executable.`;
      expect(await collect(running(file).runTurn(turn))).toEqual([{ type: 'error', kind: 'crash', message }]);
    });
  });
}

/** An agent's reply to a person with this provider, through a real daemon and its sockets. */
async function askThrough(provider: string, settings: string): Promise<string> {
  const config = `[daemon]\nmax_attempts = 1\n[providers.${provider}]\n${settings}`;
  await using daemon = await startDaemon({ config, members: { asked: { provider } } });
  const { messageId } = await daemon.client.sendMessage(daemon.agent('asked').id, { text: 'Go.' });
  return (await daemon.client.awaitReply(messageId, 15))?.text ?? 'no answer';
}

export function makeTurn(workspace: string): Turn {
  return {
    runId: randomUUID(),
    agentId: randomUUID(),
    name: 'tester',
    model: null,
    workspace,
    instructions: 'Be brief.',
    prompt: 'Say hello.',
    session: null,
    messages: [],
    journal: [],
    timeoutMs: 15_000,
    signal: new AbortController().signal,
    tools: async () => [],
    guard: null,
    conversation: conversationInMemory(),
    news: { next: async () => null },
    admit: async ({ outputTokens }) => ({ outputTokens, over: () => {} }),
    meter: () => {},
    launch: {
      program: null,
      home: join(workspace, 'home'),
      mcpConfig: join(workspace, 'mcp.json'),
      countTools: async () => 7,
      confine: async (command) => command,
      onSpawn: async () => undefined,
    },
  };
}

/** What a turn's conversation does, without a store. */
function conversationInMemory(): Conversation {
  const entries: ConversationEntry[] = [];
  return {
    load: async (session) => {
      const all = entries.filter((entry) => entry.session === session);
      const summary = all.findLast(({ covers }) => covers !== null);
      const after = all.filter(({ n, covers }) => covers === null && n > (summary?.covers ?? 0));
      return [...(summary ? [summary] : []), ...after];
    },
    append: async (session, more) => {
      const added = more.map((entry, i) => ({
        ...{ session, n: entries.length + 1 + i, agentId: 'a', runId: 'r', createdAt: 1 },
        ...{ covers: null, inputTokens: 0, outputTokens: 0, ...entry },
      }));
      entries.push(...added);
      return added;
    },
    readFile: async () => null,
    findCall: async () => null,
  };
}

export function changed(turn: Turn, changes: Changes = {}): Turn {
  const isOfLaunch = ([key]: [string, unknown]) => Object.hasOwn(turn.launch, key);
  const entries = Object.entries(changes);
  const launch = { ...turn.launch, ...Object.fromEntries(entries.filter(isOfLaunch)) };
  return { ...turn, ...Object.fromEntries(entries.filter((entry) => !isOfLaunch(entry))), launch };
}

/** The first command of a turn and what it needs, without starting it. */
export async function startedBy(provider: Provider, turn: Turn, changes: Changes = {}) {
  const seen: { command: Command; needs: Needs }[] = [];
  const confine = async (command: Command, needs: Needs = {}) => {
    seen.push({ command, needs });
    return { ...command, file: 'true', args: [] };
  };
  await collect(provider.runTurn(changed(turn, { confine, ...changes })));
  const [first = expect.fail('nothing was started')] = seen;
  const { args } = first.command;
  return { ...first, value: (flag: string) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined) };
}

export async function collect(stream: AsyncIterable<ProviderEvent>): Promise<ProviderEvent[]> {
  const events: ProviderEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Providers differ in when they report their session, in whether they report tokens, and in what they need to call. */
function told(events: readonly ProviderEvent[]): ProviderEvent[] {
  return events.filter(({ type }) => ['text', 'done', 'error'].includes(type));
}
