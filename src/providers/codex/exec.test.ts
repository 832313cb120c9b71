import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { changed, collect, makeTurn } from '../provider.testsuite.ts';
import { codex } from './codex.ts';
import { createExecParser } from './exec.ts';

const directory = mkdtempSync(join(tmpdir(), 'codex-exec-'));
afterAll(() => rmSync(directory, { recursive: true, maxRetries: 3 }));

describe('codex without an app server', () => {
  const turn = makeTurn(directory);
  writeFileSync(turn.launch.mcpConfig, '{"mcpServers":{}}');
  const provider = codex({
    command: join(import.meta.dirname, '../../../test/fixtures/codex.mjs'),
    args: [],
    ownTools: true,
    env: { ...process.env, HOME: directory } as Record<string, string>,
    extraEnv: { STAND_IN_SCENARIO: 'answer', STAND_IN_EXEC: '1' },
    confined: false,
  });

  test('runs exec, with the instructions before the prompt, and resumes its threads', async () => {
    const first = await collect(provider.runTurn(turn));
    const session = first.flatMap((event) => (event.type === 'session' ? [event.session] : []))[0] ?? '';
    const prompt = 'Your instructions, as of this turn:\n\nBe brief.\n\n';
    expect(first.at(-1)).toEqual({ type: 'done', text: `started: ${prompt}Say hello.` });
    expect(first).toContainEqual({ type: 'usage', inputTokens: 3, outputTokens: 2 });
    const second = await collect(provider.runTurn(changed(turn, { session, prompt: 'More.' })));
    expect(second.at(-1)).toEqual({ type: 'done', text: `resumed after "${prompt}Say hello.": ${prompt}More.` });
    const lost = await collect(provider.runTurn(changed(turn, { session: 'gone' })));
    expect(lost).toMatchObject([{ type: 'error', kind: 'bad_session' }]);
  });

  test('is refused where policies need a program that asks', async () => {
    const guard = { verdict: () => 'ask' as const, permit: async () => ({ allowed: true }) as const };
    const events = await collect(provider.runTurn(changed(turn, { guard })));
    const message = expect.stringContaining('cannot ask before it uses its own tools');
    expect(events).toEqual([{ type: 'error', kind: 'invalid_request', message }]);
  });
});

describe('the stream of codex exec', () => {
  const told = (stream: string, resumed: string | null, totals = new Map()) =>
    outline(parseStream(`codex/${stream}`, createExecParser(resumed, totals)));

  test('a turn that calls one of our tools, and the tokens of a resumed thread', () => {
    const totals = new Map();
    const called = ['call substrat:send_message (ours)', 'call substrat:send_message (ours)', 'result (ours)'];
    const text = expect.stringMatching(/^text done: /);
    const done = expect.stringMatching(/^done done: /);
    const turn = ['session', ...called, text, 'usage 2000 40', done];
    expect(told('exec-t1', null, totals)).toEqual(turn);
    const [[thread]] = [...totals.keys()].map((key) => [key]) as [[string]];
    expect(told('exec-t2', thread, totals)).toEqual(turn);
    // A new daemon does not know what the first turn has used.
    expect(told('exec-t2', thread)).not.toContainEqual(expect.stringMatching(/^usage/));
  });

  test('its own tools', () => {
    expect(told('exec-own-tools', null)).toEqual(expect.arrayContaining(['call shell', 'result']));
  });

  test('a failure, not a warning', () => {
    expect(told('exec-http400', null)).toEqual(['session', 'error invalid_request']);
  });
});
