import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Span, within } from '../src/core/tracing.ts';
import { noBwrap } from './helpers/bwrap.ts';
import { type Collector, type SeenSpan, startCollector } from './helpers/collector.ts';
import { startDaemon, type TestDaemon } from './helpers/daemon.ts';
import { connectAgent } from './helpers/mcp.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');
const LOADED_MODULES = join(import.meta.dirname, 'fixtures/loaded-modules.mjs');

const LEAD = `async ({ call, messages, usage }) => {
  if (messages.some(({ kind }) => kind === 'reply')) return 'The answer is a secret answer.';
  usage({ inputTokens: 20, outputTokens: 3 });
  usage({ inputTokens: 1, outputTokens: 1 });
  await call('store_memory', { content: 'A secret memory.' });
  await call('send_message', { recipient: 'worker', text: 'A secret question.' });
  return 'Asked.';
}`;
const WORKER = `async ({ call }) => {
  await call('send_message', { recipient: 'a secret nobody', text: 'Hello.' }).catch(() => {});
  return 'A secret reply.';
}`;

describe('a trace', () => {
  test('holds what a message started: run, step, tool, post, and the runs of those that were asked', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    await ask(daemon, 'A secret order.');
    await daemon.stop();
    const spans = collector.spans();
    // The two requests that made the agents have theirs.
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2 + 1);

    const [first, second] = named(spans, 'invoke_agent lead');
    const [worker] = named(spans, 'invoke_agent worker');
    const trace = spans.filter(({ traceId }) => traceId === first?.traceId);
    expect(pathOf(trace, worker)).toEqual([
      'POST /api/agents/:id/messages',
      'post',
      'invoke_agent lead',
      'step',
      'execute_tool send_message',
      'post',
      'invoke_agent worker',
    ]);
    expect(pathOf(trace, second).slice(-3)).toEqual(['invoke_agent worker', 'post', 'invoke_agent lead']);
    expect(named(trace, 'wake').map((span) => pathOf(trace, span).at(-2))).toEqual(['post', 'post', 'post']);
    for (const run of [first, second, worker]) {
      expect(below(trace, run).filter((name) => name === 'claim' || name === 'build_prompt')).toHaveLength(2);
    }
  });

  test('says who did what, by the names of the conventions, and never a word of it', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    await ask(daemon, 'A secret order.');
    await daemon.stop();
    const spans = collector.spans();
    const lead = daemon.agent('lead').id;
    const [run] = named(spans, 'invoke_agent lead');
    expect(run?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.agent.id': lead,
      'gen_ai.agent.name': 'lead',
      'gen_ai.request.model': 'small',
      'gen_ai.usage.input_tokens': 21,
      'gen_ai.usage.output_tokens': 4,
      'substrat.run.attempt': 1,
      'substrat.run.outcome': 'completed',
    });
    expect(run?.resource).toMatchObject({ 'service.name': 'office', 'service.version': '0.0.0' });
    const [memory] = named(spans, 'execute_tool store_memory');
    expect(memory).toMatchObject({
      failed: false,
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'store_memory' },
    });
    const refused = named(spans, 'execute_tool send_message').find(({ failed }) => failed);
    expect(refused?.attributes['error.type']).toBe('not_found');
    expect(pathOf(spans, refused).slice(-3, -1)).toEqual(['invoke_agent worker', 'step']);
    expect(collector.posts.map(({ body }) => body.toString()).join()).not.toMatch(/secret/);
  });

  test('has steps that follow one another and tools inside of them', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    await ask(daemon, 'Go.');
    await daemon.stop();
    const spans = collector.spans();
    const [run] = named(spans, 'invoke_agent lead');
    const steps = spans.filter(({ name, parentSpanId }) => name === 'step' && parentSpanId === run?.spanId);
    expect(steps.map((step) => step.attributes['substrat.step'])).toEqual([1, 2]);
    expect(steps.map((step) => below(spans, step))).toEqual([
      ['execute_tool store_memory'],
      ['execute_tool send_message'],
    ]);
    expect(steps[1]?.start).toBe(steps[0]?.end);
    for (const tool of spans.filter(({ name }) => name.startsWith('execute_tool'))) {
      const step = spans.find(({ spanId }) => spanId === tool.parentSpanId) as SeenSpan;
      expect(tool.start).toBeGreaterThanOrEqual(Math.floor(step.start));
    }
  });

  test('goes on from the one of whoever calls', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const { url } = await daemon.daemon.status();
    const token = readFileSync(join(daemon.home, 'token'), 'utf8').trim();
    const post = (traceparent: string) =>
      fetch(`${url}/api/agents/lead/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', traceparent },
        body: JSON.stringify({ text: 'Go.' }),
      });
    expect((await post(`00-${traceId}-${spanId}-01`)).status).toBe(201);
    expect((await post('00-nonsense')).status).toBe(201);
    await daemon.stop();
    const [continued, fresh] = named(collector.spans(), 'POST /api/agents/:id/messages').slice(-2);
    expect(continued).toMatchObject({ traceId, parentSpanId: spanId });
    expect(fresh?.parentSpanId).toBe('');
    expect(fresh?.traceId).not.toBe(traceId);
  });

  test('has a failed run as failed, and each attempt', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startDaemon({ config: '[daemon]\nmax_attempts = 2\n' });
    const program = daemon.program('broken', `async () => { throw new Error('a secret reason'); }`);
    await daemon.client.createAgent({ name: 'broken', program });
    await ask(daemon, 'Go.', 'broken');
    await daemon.stop();
    const runs = named(collector.spans(), 'invoke_agent broken');
    expect(runs.map(({ failed, attributes }) => [failed, attributes['error.type']])).toEqual([
      [true, 'crash'],
      [true, 'crash'],
    ]);
    expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(1);
    expect(collector.posts.map(({ body }) => body.toString()).join()).not.toMatch(/secret/);
  });

  test('is linked with those of the other messages that a run carries', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startDaemon();
    const program = daemon.program(
      'parent',
      `async ({ call, name }) => {
        if (name === 'kid') return 'Read.';
        await call('spawn_agent', { name: 'kid', role: 'worker', instructions: 'Read.' });
        await call('send_message', { recipient: 'kid', text: 'One.', sync: false });
        await call('send_message', { recipient: 'kid', text: 'Two.', sync: false });
        return 'Told.';
      }`,
    );
    await daemon.client.createAgent({ name: 'parent', program });
    await ask(daemon, 'Go.', 'parent');
    await until('the child has read', async () => (await daemon.client.listRuns({ agent: 'kid' })).items[0]?.endedAt);
    await daemon.stop();
    const spans = collector.spans();
    const [one, two] = named(spans, 'post').filter(
      (span) => pathOf(spans, span).at(-2) === 'execute_tool send_message',
    );
    const [kid] = named(spans, 'invoke_agent kid');
    expect([kid?.parentSpanId, kid?.links]).toEqual([one?.spanId, [two?.spanId]]);
  });

  test('goes on where the daemon answers in the place of somebody', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startDaemon({ config: '[daemon]\nrequest_deadline = "1s"\n' });
    const lead = daemon.program(
      'lead',
      `async ({ call, messages }) => {
        if (messages.some(({ kind }) => kind === 'error')) return 'No answer.';
        await call('send_message', { recipient: 'worker', text: 'Well?' });
        return 'Asked.';
      }`,
    );
    const worker = daemon.program('worker', 'async () => { await new Promise((done) => setTimeout(done, 60_000)); }');
    await daemon.client.createAgent({ name: 'lead', program: lead });
    await daemon.client.createAgent({ name: 'worker', parent: 'lead', program: worker });
    await daemon.client.sendMessage('lead', { text: 'Go.' });
    await until('the lead has heard of it', async () => {
      const { items } = await daemon.client.listRuns({ agent: 'lead' });
      return items.length === 2 && items.every(({ endedAt }) => endedAt);
    });
    await daemon.stop();
    const [first, second] = named(collector.spans(), 'invoke_agent lead');
    expect(second?.traceId).toBe(first?.traceId);
    const [cut] = named(collector.spans(), 'invoke_agent worker');
    expect(cut?.attributes['substrat.run.outcome']).toBe('cancelled');
  });

  test('has the tools that a provider runs itself, where it tells of them', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startDaemon();
    const program = daemon.program(
      'teller',
      `async () => {
        const tell = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
        tell({ type: 'tool_call', id: '1', name: 'read', arguments: { file: 'secret' } });
        tell({ type: 'tool_result', id: '1', result: 'secret' });
        tell({ type: 'tool_call', id: '2', name: 'grep', arguments: { word: 'secret' } });
        tell({ type: 'tool_result', id: '2', result: 'secret', isError: true });
        tell({ type: 'tool_call', id: '3', name: 'sleep' });
        return 'Done.';
      }`,
    );
    await daemon.client.createAgent({ name: 'teller', program });
    await ask(daemon, 'Go.', 'teller');
    await daemon.stop();
    const spans = collector.spans();
    const tools = spans.filter(({ name }) => name.startsWith('execute_tool')).sort((a, b) => a.start - b.start);
    expect(tools.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['execute_tool read', undefined],
      ['execute_tool grep', 'tool_error'],
      ['execute_tool sleep', 'cut_off'],
    ]);
    for (const tool of tools) expect(pathOf(spans, tool).slice(-3, -1)).toEqual(['invoke_agent teller', 'step']);
    expect(collector.posts.map(({ body }) => body.toString()).join()).not.toMatch(/secret/);
  });

  test('of an agent that somebody else runs has its connection as the run', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startDaemon({ members: { boss: {} } });
    const boss = await connectAgent({ home: daemon.home, agentId: daemon.agent('boss').id });
    await boss.call('list_agents');
    await boss[Symbol.asyncDispose]();
    await daemon.stop();
    const [tool] = named(collector.spans(), 'execute_tool list_agents');
    expect(pathOf(collector.spans(), tool)).toEqual(['invoke_agent boss', 'step', 'execute_tool list_agents']);
  });

  test('survives the death of the daemon', async () => {
    await using collector = await startCollector();
    const { home, directory } = makeHome();
    const program = join(directory, 'worker.ts');
    const waiting = join(directory, 'waiting');
    writeFileSync(
      program,
      `import { runAgent } from '${SCRIPTED}';
      import { existsSync, writeFileSync } from 'node:fs';
      await runAgent(async () => {
        if (existsSync('${waiting}')) return 'Done.';
        writeFileSync('${waiting}', '');
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      });`,
    );
    const lead = join(directory, 'lead.ts');
    writeFileSync(lead, `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${LEAD});`);
    const env = { ...environmentFor(collector), OTEL_BSP_SCHEDULE_DELAY: '20' };
    const before = await startDaemonProcess({ home, env });
    await before.client.createAgent({ name: 'lead', program: lead });
    await before.client.createAgent({ name: 'worker', parent: 'lead', program });
    const { messageId } = await before.client.sendMessage('lead', { text: 'Go.' });
    await until('the worker works', () => existsSync(waiting));
    await until('the spans so far are there', () => named(collector.spans(), 'invoke_agent lead')[0]);
    await before.kill();
    const after = await startDaemonProcess({ home, env });
    expect((await after.client.awaitReply(messageId, 20))?.text).toMatch(/answer/);
    await after.stop();
    const spans = collector.spans();
    const [first, second] = named(spans, 'invoke_agent lead');
    const [worker] = named(spans, 'invoke_agent worker');
    expect(worker?.attributes['substrat.run.attempt']).toBe(2);
    expect([worker?.traceId, second?.traceId]).toEqual([first?.traceId, first?.traceId]);
    expect(pathOf(spans, second)).toEqual([
      ...['POST /api/agents/:id/messages', 'post', 'invoke_agent lead', 'step', 'execute_tool send_message', 'post'],
      ...['invoke_agent worker', 'post', 'invoke_agent lead'],
    ]);
  });
});

describe('tracing', () => {
  test('samples as the environment says, and what a message started as the message was', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'parentbased_always_off');
    await using daemon = await startTeam();
    expect(await ask(daemon, 'Go.')).toMatch(/answer/);
    await daemon.stop();
    expect(collector.posts).toEqual([]);
  });

  test('loads nothing and stores nothing where nobody asked for it', async () => {
    await using collector = await startCollector();
    const off = await modulesOf({ OTEL_SERVICE_NAME: 'office' });
    expect(off.loaded).toMatch(/src\/daemon\/daemon\.ts/);
    expect(off.loaded).not.toMatch(/opentelemetry|sentry|src\/tracing\/start/);
    expect(off.traces).toEqual([null]);
    const disabled = await modulesOf({ ...environmentFor(collector), OTEL_SDK_DISABLED: 'true' });
    expect(disabled.loaded).not.toMatch(/opentelemetry|sentry/);
    const none = await modulesOf({ ...environmentFor(collector), OTEL_TRACES_EXPORTER: 'none' });
    expect(none.loaded).not.toMatch(/opentelemetry|sentry/);
    expect(collector.posts).toEqual([]);
    const on = await modulesOf(environmentFor(collector));
    expect(on.loaded).toMatch(/opentelemetry/);
    expect(on.loaded).not.toMatch(/sentry/);
    expect(on.traces).toEqual([expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)]);
  });

  test('speaks protobuf unless JSON is asked for', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', undefined);
    await using daemon = await startTeam();
    await ask(daemon, 'Go.');
    await daemon.stop();
    expect(collector.posts[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf', 'x-key': 'of-the-collector' },
    });
    expect(collector.posts.map(({ body }) => body.toString('latin1')).join()).toMatch(/invoke_agent worker/);
  });

  test('costs dropped spans and one line of the log where the collector is down, and no time at the end', async () => {
    const gone = await startCollector();
    await gone[Symbol.asyncDispose]();
    tracedTo(gone);
    vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '10');
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
    await using daemon = await startTeam();
    expect(await ask(daemon, 'Go.')).toMatch(/answer/);
    expect(await ask(daemon, 'Again.')).toMatch(/answer/);
    const lines = () => daemon.log().match(/spans could not be sent/g) ?? [];
    await until('the log has it', () => lines().length === 1);
    expect(await ask(daemon, 'Once more.')).toMatch(/answer/);
    expect(lines()).toHaveLength(1);
    const before = Date.now();
    await daemon.daemon.stop();
    expect(Date.now() - before).toBeLessThan(5000);
  });

  test('does not keep a daemon that is told to stop, whatever the collector does', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { home } = makeHome();
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const daemon = await startDaemonProcess({ home, env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
    await daemon.client.createAgent({ name: 'boss', provider: 'external' });
    const before = Date.now();
    expect(await daemon.stop()).toBe(0);
    expect(Date.now() - before).toBeLessThan(6000);
  });

  test('puts the trace id into the lines of the log', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    const { log, store, tracer } = daemon.daemon;
    const span = tracer?.start('look', {}, { parent: null }) as Span;
    // Writers that share a commit, and the first of them begins it.
    await Promise.all([
      within(span, () => store.write(async () => log.warn({}, 'inside'))),
      store.write(async () => log.warn({}, 'outside')),
    ]);
    const lines = daemon
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; trace_id?: string });
    const traceOf = (said: string) => lines.filter(({ msg }) => msg === said).map(({ trace_id }) => trace_id);
    expect([traceOf('inside'), traceOf('outside')]).toEqual([[span.traceId], [undefined]]);
  });

  test('tells Sentry of spans and errors, without words, and nothing of what is meant for the collector', async () => {
    await using sentry = await startCollector();
    vi.stubEnv('SENTRY_DSN', `${sentry.url.replace('//', '//publickey@')}/42`);
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-key=of-the-collector');
    await using daemon = await startTeam();
    await ask(daemon, 'A secret order.');
    daemon.daemon.log.error({ error: new TypeError('a secret reason').stack }, 'a tool failed');
    await daemon.stop();
    const spans = sentry.posts.find(({ path }) => path === '/api/42/integration/otlp/v1/traces/');
    expect(spans?.headers['x-sentry-auth']).toMatch(/sentry_key=publickey/);
    expect(spans?.headers).not.toHaveProperty('x-key');
    expect(spans?.body.toString('latin1')).toMatch(/invoke_agent lead/);
    const error = sentry.posts.find(({ path }) => path.startsWith('/api/42/envelope/'));
    expect(error?.body.toString()).toMatch(/"type":"TypeError","value":"a tool failed","stacktrace":\{"frames":\[\{/);
    expect(sentry.posts.map(({ body }) => body.toString('latin1')).join()).not.toMatch(/secret/);
  });

  test.each(noBwrap ? (['none'] as const) : (['none', 'bwrap'] as const))(
    'keeps where it sends to out of sight of agents (%s)',
    async (sandbox) => {
      await using collector = await startCollector();
      tracedTo(collector);
      vi.stubEnv('SENTRY_DSN', `${collector.url.replace('//', '//publickey@')}/42`);
      await using daemon = await startDaemon({ sandbox });
      // In a sandbox, also what the processes around it can be seen to have.
      const program = daemon.program(
        'look',
        `async () => {
        const { readdirSync, readFileSync } = await import('node:fs');
        const seen = (pid) => { try { return readFileSync('/proc/' + pid + '/environ', 'utf8'); } catch { return ''; } };
        const pids = ${sandbox === 'bwrap'} ? readdirSync('/proc').filter((name) => Number(name) > 0) : ['self'];
        return JSON.stringify([process.env, ...pids.map(seen)]);
      }`,
      );
      await daemon.client.createAgent({ name: 'look', program });
      const seen = await ask(daemon, 'Look.', 'look');
      expect(seen).toMatch(/SUBSTRAT_RUN_ID/);
      expect(seen).not.toMatch(/OTEL|SENTRY|publickey|of-the-collector|traceparent/i);
    },
  );
});

function environmentFor({ url }: Collector): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of-the-collector',
    OTEL_SERVICE_NAME: 'office',
  };
}

function tracedTo(collector: Collector): void {
  for (const [name, value] of Object.entries(environmentFor(collector))) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

async function startTeam(): Promise<TestDaemon> {
  const directory = mkdtempSync(join(tmpdir(), 'team-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const write = (name: string, agent: string) => {
    const path = join(directory, `${name}.ts`);
    writeFileSync(path, `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${agent});\n`);
    return path;
  };
  return startDaemon({
    members: {
      lead: { program: write('lead', LEAD), model: 'small' },
      worker: { program: write('worker', WORKER), parent: 'lead' },
    },
  });
}

async function ask({ client }: TestDaemon, text: string, agent = 'lead'): Promise<string> {
  const { messageId } = await client.sendMessage(agent, { text });
  const reply = await client.awaitReply(messageId, 20);
  await until('nobody is busy', async () => (await client.listAgents({})).items.every(({ state }) => state !== 'busy'));
  return reply?.text ?? '';
}

/** What a daemon that carries one message has loaded, and what it stored of traces. */
async function modulesOf(env: Record<string, string>): Promise<{ loaded: string; traces: unknown[] }> {
  const { home, directory } = makeHome();
  const file = join(directory, 'modules');
  writeFileSync(file, '');
  const hooks = { NODE_OPTIONS: `--import=${LOADED_MODULES}`, LOADED_MODULES: file };
  const daemon = await startDaemonProcess({ home, env: { ...env, ...hooks } });
  await daemon.client.createAgent({ name: 'boss', provider: 'external' });
  await daemon.client.sendMessage('boss', { text: 'Hello.' });
  await daemon.stop();
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  const traces = database.prepare('select trace from messages').pluck().all();
  database.close();
  return { loaded: readFileSync(file, 'utf8'), traces };
}

function makeHome(): { home: string; directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'traced-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return { home: join(directory, 'home'), directory };
}

/** In the order of their beginning. */
function named(spans: readonly SeenSpan[], name: string): SeenSpan[] {
  return spans.filter((span) => span.name === name).sort((a, b) => a.start - b.start);
}

/** The names from the first span of the trace down to this one. */
function pathOf(spans: readonly SeenSpan[], span: SeenSpan | undefined): string[] {
  if (!span) return [];
  return [
    ...pathOf(
      spans,
      spans.find(({ spanId }) => spanId === span.parentSpanId),
    ),
    span.name,
  ];
}

function below(spans: readonly SeenSpan[], span: SeenSpan | undefined): string[] {
  return spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId).map(({ name }) => name);
}
