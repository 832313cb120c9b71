import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { obedient } from '../fake-model/mind.ts';
import { type FakeModel, startFakeModel } from '../fake-model/server.ts';
import { startDaemon, storeRows, type TestDaemon } from '../helpers/daemon.ts';
import { processesOf } from '../helpers/run-processes.ts';
import { until } from '../helpers/until.ts';
import { install, type Pinned } from './installed.ts';

export interface RealProgram {
  /** The provider. */
  readonly name: string;
  readonly pinned: Pinned;
  /** The file to start instead of the installed one, made from it. */
  altered?(command: string): string;
  /** What the program calls the model. */
  readonly model?: string;
  /** What its table in the configuration has besides the command. */
  settings(model: { readonly url: string; readonly key: string; readonly command: string }): string;
  /** Its own tool that runs a shell command, and the argument that has it. */
  readonly shell: { readonly tool: string; readonly argument: string; readonly more?: object };
  /** How a limit of the account is refused, and when it ends. */
  limit(resetsAt: Date): {
    readonly headers?: Record<string, string>;
    readonly error?: object;
    readonly message: string;
  };
  /** Whether the reset time of a limit is known from the program's events. */
  readonly knowsReset: boolean;
  readonly reportsUsage: boolean;
  /** Messages are inserted into a running turn. */
  readonly steers?: boolean;
  /** Policies hold for its own tools: what it is configured with so that it asks, if not by Substrat alone. */
  readonly judged?: boolean;
  /** Its warnings, and what was cut off before, are a part of its text. */
  readonly warns?: boolean;
  /** It takes an answer that was cut off for a whole one. */
  readonly missesDrop?: boolean;
}

/** A limit that only the answer's header tells, for programs that do not report it: the proxy sees it. */
export function refusedUntil(resetsAt: Date) {
  const seconds = Math.round((resetsAt.getTime() - Date.now()) / 1_000);
  return { message: 'Rate limit reached.', headers: { 'retry-after': String(seconds) } };
}

/** What every program must do in the real sandbox, with a model that obeys its prompt. */
export function testRealProgram({
  name,
  pinned,
  altered = (command) => command,
  model: modelName = 'mock-model',
  settings,
  shell,
  limit,
  knowsReset,
  reportsUsage,
  warns = false,
  missesDrop = false,
  steers = false,
  judged = false,
}: RealProgram): void {
  const key = `sk-secret-${crypto.randomUUID()}`;
  let command: string;
  let model: FakeModel;
  let daemon: TestDaemon;

  beforeAll(async () => {
    command = altered(await install(pinned));
  });

  afterEach(async () => {
    await daemon?.stop();
    await model?.close();
  });

  async function start(limits = 'max_attempts = 1', more = ''): Promise<void> {
    model = await startFakeModel({ key, mind: obedient });
    const config = `[daemon]\n${limits}\n[providers.${name}]\ncommand = ${JSON.stringify(command)}\n${settings({ url: model.url, key, command })}\n${more}`;
    const members = { bob: {}, asked: { provider: name, model: modelName } };
    daemon = await startDaemon({ config, members, sandbox: 'bwrap' });
  }

  async function ask(text: string, seconds = 60) {
    const { messageId } = await daemon.client.sendMessage('asked', { text });
    return daemon.client.awaitReply(messageId, seconds);
  }

  const inShell = (script: string) =>
    `[[call ${shell.tool} ${JSON.stringify({ [shell.argument]: script, ...shell.more })}]]`;
  const final = (text: string) => (warns ? expect.stringMatching(new RegExp(`${text}$`)) : text);
  const latest = async () => (await daemon.client.listRuns({ agent: daemon.agent('asked').id })).items[0];

  describe(`the real program of ${name}`, () => {
    test('calls send_message, which arrives in the store, and remembers it in its second turn', async () => {
      await start();
      const first = await ask('[[call send_message {"recipient":"bob","text":"hi from the program"}]]');
      expect(first?.kind).toBe('reply');
      const { messages = [] } = await storeRows(daemon.home);
      expect(JSON.stringify(messages)).toContain('hi from the program');
      const second = await ask('What did you do?');
      expect(second?.text).toMatch(warns ? /I heard \d+: What did you do\?/ : /^I heard \d+: What did you do\?/);
      const last = JSON.stringify(model.requests.at(-1)?.messages);
      expect(last).toContain('hi from the program');
      expect(last).toContain('What did you do?');
      expect(model.requests.every(({ model }) => model === 'mock-model')).toBe(true);
      expect(JSON.stringify(model.requests[0]?.body)).toContain('You are asked');
      const run = await daemon.client.getRun((await latest())?.id ?? '');
      if (reportsUsage) expect(run.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: 10 });
    });

    test('runs its own shell in the sandbox, recorded as a step, and the key is nowhere in it', async () => {
      await start();
      // The pattern does not match itself.
      const looks = [
        'env',
        'cat /proc/[0-9]*/environ',
        'cat /proc/[0-9]*/cmdline',
        'grep -rah "sk-[s]ecret-" ~ . /tmp',
      ];
      const found = `(${looks.join('; ')}) 2>&1 | tr "\\0" "\\n" | grep -aoE "sk-[s]ecret-[0-9a-f]{8}"`;
      const reply = await ask(inShell(`echo found > made.txt; echo HOME=$HOME; ${found}; exit 0`));
      expect(readFileSync(join(daemon.agent('asked').workspace, 'made.txt'), 'utf8')).toBe('found\n');
      expect(reply?.text).toMatch(/HOME=/);
      expect(reply?.text).not.toContain('sk-secret-');
      const run = await daemon.client.getRun((await latest())?.id ?? '');
      const called = run.messages.filter(({ type }) => type === 'tool_call_message').map(({ tool }) => tool);
      expect(called).toHaveLength(1);
      expect(grep(key, join(daemon.home, 'agents'))).toEqual([]);
    });

    test.runIf(steers)('gets a message in the middle of its turn, once', async () => {
      await start();
      const program = daemon.program(
        'helper',
        `async ({ call }) => { await call('send_message', { recipient: 'asked', text: 'psst, by the way', sync: false }); return 'sent'; }`,
      );
      await daemon.client.createAgent({ name: 'helper', parent: 'asked', program });
      const { workspace } = daemon.agent('asked');
      const wait = 'touch waiting; while [ ! -e go ]; do sleep 0.1; done; echo went';
      const { messageId } = await daemon.client.sendMessage('asked', { text: inShell(wait) });
      await until('its shell waits', () => existsSync(join(workspace, 'waiting')), 60_000);
      await daemon.client.sendMessage('helper', { text: 'go' });
      const runId = (await latest())?.id ?? '';
      const { store } = daemon.daemon;
      const news = async () => {
        const carried = await store.read((tx) => tx.deliveries.listDeliveriesOfRun({ runId }));
        return carried.filter(({ deliveryKind }) => deliveryKind === 'news').map(({ text }) => text);
      };
      await until('the news is given', async () => (await news()).length > 0, 60_000);
      writeFileSync(join(workspace, 'go'), '');
      expect((await daemon.client.awaitReply(messageId, 60))?.kind).toBe('reply');
      const last = JSON.stringify(model.requests.at(-1)?.body);
      expect(last.match(/psst, by the way/g)).toHaveLength(1);
      expect(await news()).toEqual(['psst, by the way']);
      expect((await daemon.client.listRuns({ agent: daemon.agent('asked').id })).items).toHaveLength(1);
    });

    test.runIf(judged)('asks before it uses its shell, and does only what was approved, once', async () => {
      const policies = ['shell', 'write'].map((kind) => `[policies.${kind}]\ntool = "own:${kind}"\naction = "ask"`);
      await start('max_attempts = 1', policies.join('\n'));
      const { workspace } = daemon.agent('asked');
      // What the workspace says about permissions does not count.
      const hook = { matcher: '*', hooks: [{ type: 'command', command: `echo '{"decision":"approve"}'` }] };
      const settings = { permissions: { allow: ['Bash', 'Write'] }, hooks: { PreToolUse: [hook] } };
      mkdirSync(join(workspace, '.claude'));
      writeFileSync(join(workspace, '.claude/settings.json'), JSON.stringify(settings));
      const order = inShell('echo made >> made.txt');
      const { messageId } = await daemon.client.sendMessage('asked', { text: order });
      const open = async () => (await daemon.client.listQuestions({ open: true })).items;
      const [question] = await until('it has asked', async () => ((await open()).length > 0 ? open() : null), 60_000);
      expect(existsSync(join(workspace, 'made.txt'))).toBe(false);
      expect(question).toMatchObject({ tool: 'own:shell', arguments: { command: 'echo made >> made.txt' } });
      await daemon.client.approveQuestion(question?.id ?? '');
      expect((await daemon.client.awaitReply(messageId, 60))?.kind).toBe('reply');
      await daemon.client.sendMessage('asked', { text: `${order} ${order}` });
      await until('it asks again', async () => (await open()).length > 0, 60_000);
      expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toBe('made\n');
    });

    test('is killed in the middle of a turn and resumes its session', async () => {
      await start('max_attempts = 2');
      await ask('My colour is blue.');
      const { messageId } = await daemon.client.sendMessage('asked', { text: '[[hang]]' });
      await until('the model hangs', () => model.hanging() > 0, 60_000);
      model.become(() => ({ text: 'back again' }));
      const run = await latest();
      for (const pid of processesOf(run?.id ?? '')) kill(pid);
      expect((await daemon.client.awaitReply(messageId, 60))?.text).toEqual(final('back again'));
      expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('My colour is blue.');
      expect((await storeRows(daemon.home)).sessions).toHaveLength(1);
    });

    test('reports an HTTP 400 of the model', async () => {
      await start();
      const reply = await ask('[[http 400 {"message":"No such thing as this request."}]]');
      expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining('No such thing as this request') });
    });

    test('rests at a limit, until it resets if the program tells when', async () => {
      await start();
      const resetsAt = new Date(Math.ceil((Date.now() + 3_600_000) / 1_000) * 1_000);
      const order = JSON.stringify(limit(resetsAt));
      await daemon.client.sendMessage('asked', { text: `[[http 429 ${order}]]` });
      const notice = await until(
        'the person is told',
        async () => {
          const { items } = await daemon.client.listInbox({});
          return items.find(({ text }) => /limit/i.test(text));
        },
        60_000,
      );
      expect(notice.text).toContain('asked');
      const { runs = [] } = await storeRows(daemon.home);
      expect(runs).toMatchObject([{ state: 'created' }]);
      if (knowsReset) expect(runs).toMatchObject([{ not_before: expect.closeTo(resetsAt.getTime(), -5) }]);
    });

    test.skipIf(missesDrop)('goes on after a stream that was dropped', async () => {
      await start();
      const { messageId } = await daemon.client.sendMessage('asked', { text: '[[drop]]' });
      await until('the stream was dropped', () => model.requests.length > 0, 60_000);
      model.become(() => ({ text: 'whole at last' }));
      expect((await daemon.client.awaitReply(messageId, 60))?.text).toEqual(final('whole at last'));
    });

    test('is ended at its time limit while the model hangs', async () => {
      await start('max_attempts = 1\nturn_timeout = "12s"');
      const reply = await ask('[[hang]]');
      expect(reply).toMatchObject({ kind: 'error', text: expect.stringContaining('time limit of 12 s') });
    });
  });
}

function grep(words: string, directory: string): string[] {
  try {
    return execFileSync('grep', ['-rl', words, directory], { encoding: 'utf8' }).split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already exited.
  }
}
