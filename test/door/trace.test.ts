import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;

beforeAll(async () => {
  world = await startDaemon();
  const lead = world.program(
    'lead',
    `async ({ messages, call, say, usage }) => {
      if (messages[0].kind !== 'request') return 'The worker said ' + messages[0].text;
      usage({ inputTokens: 100, outputTokens: 10, costUsd: 0.5 });
      await call('send_message', { recipient: 'worker', text: 'How many?', sync: true });
      usage({ inputTokens: 40, outputTokens: 4, costUsd: 0.25 });
      say('I wait.');
    }`,
  );
  const worker = world.program('worker', "() => 'seven'");
  await world.client.createAgent({ name: 'lead', program: lead, instructions: 'Ask the worker.' });
  await world.client.createAgent({ name: 'worker', program: worker, parent: 'lead' });
});

afterAll(() => world.stop());

describe('a trace', () => {
  test('follows a request through all agents, from any of its runs', async () => {
    const { messageId } = await world.client.sendMessage('lead', { text: 'How many are there?' });
    const reply = await until('the answer', () => world.client.awaitReply(messageId, 5));
    expect(reply.text).toBe('The worker said seven');
    const other = await world.client.sendMessage('worker', { text: 'And for me?' });
    await until('the other answer', () => world.client.awaitReply(other.messageId, 5));
    const [answered, asked] = (await world.client.listRuns({ agent: 'lead' })).items;
    const worked = (await world.client.listRuns({ agent: 'worker' })).items.at(-1);
    const trace = await world.client.getTrace(worked?.id ?? '');
    expect(trace).toMatchObject({ message: { messageId, from: 'user', text: 'How many are there?' }, complete: true });
    expect(trace.runs.map(({ run, agent, parent }) => [agent, run, parent])).toEqual([
      ['lead', asked?.id, null],
      ['worker', worked?.id, asked?.id],
      ['lead', answered?.id, worked?.id],
    ]);
    for (const { run } of trace.runs) expect(await world.client.getTrace(run)).toEqual(trace);
    const printed = await runSubstrat(['run', 'trace', asked?.id ?? ''], { home: world.home });
    expect(printed.stdout).toMatch(/^user, .*: How many are there\?\n {2}lead .*completed.*\n {4}worker .*\n {6}lead /);
  });

  test('a run lists what it sent', async () => {
    const asked = (await world.client.listRuns({ agent: 'lead' })).items.at(-1);
    const { items } = await world.client.listSent(asked?.id ?? '');
    expect(items).toMatchObject([{ kind: 'message', text: 'How many?', channelId: 'dm-lead-worker' }]);
  });

  test('is only for the owner', async () => {
    const asked = (await world.client.listRuns({ agent: 'lead' })).items.at(-1);
    const { token } = await world.client.createToken({ as: 'anna' });
    const url = (await world.client.getStatus()).url ?? '';
    for (const path of [`/api/runs/${asked?.id}/trace`, `/api/runs/${asked?.id}/sent`, '/api/log', '/api/doctor']) {
      const { status } = await ask({ url }, path, { headers: { authorization: `Bearer ${token}` } });
      expect([path, status]).toEqual([path, 403]);
    }
  });
});

describe('a record', () => {
  test('has the sections of its prompt, which add up to the text', async () => {
    const asked = (await world.client.listRuns({ agent: 'lead' })).items.at(-1);
    const { messages } = await world.client.getRun(asked?.id ?? '');
    const prompts = messages.filter(({ sections }) => sections !== null);
    expect(prompts.map(({ sections }) => sections?.map(({ name }) => name))).toEqual([
      ['identity', 'instructions', 'memory', 'guidance'],
      ['message'],
    ]);
    for (const { sections, content } of prompts) {
      const length = (sections ?? []).reduce((sum, part) => sum + part.length + 2, -2);
      expect(length).toBe(String(content).length);
    }
    const second = prompts[0]?.sections?.[1]?.length ?? 0;
    expect(
      String(prompts[0]?.content)
        .slice((prompts[0]?.sections?.[0]?.length ?? 0) + 2)
        .slice(0, second),
    ).toBe('Ask the worker.');
  });

  test('a step has what was counted until its end', async () => {
    const asked = (await world.client.listRuns({ agent: 'lead' })).items.at(-1);
    const { steps } = await world.client.getRun(asked?.id ?? '');
    expect(steps.map(({ usage }) => usage)).toEqual([
      { inputTokens: 100, outputTokens: 10, costUsd: 0.5 },
      { inputTokens: 40, outputTokens: 4, costUsd: 0.25 },
    ]);
  });
});

describe('health', () => {
  test('the log is filtered by level and text', async () => {
    const { items } = await world.client.listLog({ limit: 500 });
    expect(items.length).toBeGreaterThan(0);
    const times = items.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().reverse());
    expect((await world.client.listLog({ level: 'error' })).items).toEqual([]);
    const { json } = await ask(world, '/api/log?q=no%20line%20has%20this');
    expect(json.items).toEqual([]);
  });

  test('the doctor says what `substrat doctor` says', { timeout: 60_000 }, async () => {
    const { findings } = await world.client.examine();
    expect(findings.map(({ what }) => what)).toEqual(expect.arrayContaining(['Node', 'daemon', 'store', 'disk']));
    expect(findings.find(({ what }) => what === 'daemon')?.detail).toMatch(/^running/);
  });
});
