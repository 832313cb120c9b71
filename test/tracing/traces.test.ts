import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type SeenSpan, startCollector } from '../helpers/collector.ts';
import { startDaemon } from '../helpers/daemon.ts';
import { connectAgent } from '../helpers/mcp.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import {
  ask,
  below,
  environmentFor,
  LEAD,
  makeHome,
  named,
  pathOf,
  SCRIPTED,
  startTeam,
  tracedTo,
} from '../helpers/traced.ts';
import { until } from '../helpers/until.ts';

describe('a trace', () => {
  test('contains what a message started: run, step, tool, post, and the runs of the agents asked', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    await ask(daemon, 'A secret order.');
    await daemon.stop();
    const spans = collector.spans();
    // The two requests that created the agents have their own.
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

  test('says who did what, by the conventional names, and never contains texts', async () => {
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

  test('has consecutive steps with tools inside', async () => {
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

  test("continues the caller's trace", async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const { url } = await daemon.daemon.api.status();
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

  test('marks a failed run and each failed attempt', async () => {
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

  test('continues when the daemon answers for somebody', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    let later = 0;
    const clock = () => Date.now() + later;
    await using daemon = await startDaemon({ config: '[daemon]\nrequest_deadline = "1h"\n', clock });
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
    const stateOf = async (name: string) => (await daemon.client.getAgent(name)).state;
    await until('the worker works', async () => (await stateOf('worker')) === 'busy');
    await until('the lead waits', async () => (await stateOf('lead')) === 'waiting');
    later = 3_600_000;
    await until('the lead has heard of it', async () => {
      await daemon.daemon.tick();
      const { items } = await daemon.client.listRuns({ agent: 'lead' });
      return items.length === 2 && items.every(({ endedAt }) => endedAt);
    });
    await daemon.stop();
    const [first, second] = named(collector.spans(), 'invoke_agent lead');
    expect(second?.traceId).toBe(first?.traceId);
    const [cut] = named(collector.spans(), 'invoke_agent worker');
    expect(cut?.attributes['substrat.run.outcome']).toBe('cancelled');
  });

  test("includes the provider's own tools if it reports them", async () => {
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

  test('of an external agent has its connection as the run', async () => {
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
