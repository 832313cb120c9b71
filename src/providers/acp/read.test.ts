import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { outline, parseStream } from '../../../test/helpers/streams.ts';
import { makeTurn } from '../provider.testsuite.ts';
import { createDialogue } from './dialogue.ts';

/** What a recorded stream of `test/fixtures/streams/acp` means; the requests of the client have the same numbers. */
function parse(stream: string, costs = new Map<string, number>(), session: string | null = null) {
  const directory = mkdtempSync(join(tmpdir(), 'acp-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const turn = makeTurn(directory);
  writeFileSync(turn.launch.mcpConfig, '{"mcpServers":{}}');
  const policy = { name: stream, ownTools: true, authMethod: null, costs };
  const { parse } = createDialogue(policy, turn, session);
  return parseStream(`acp/${stream}`, parse);
}
const told = (stream: string) => outline(parse(stream)).filter((line) => line !== 'session');

describe('a recorded stream', () => {
  test('of claude-agent-acp', () => {
    expect(told('claude')).toEqual([
      'call substrat:send_message (ours)',
      'result (ours)',
      'text done: sent to bob by alice',
      'usage 3000 40',
      'done done: sent to bob by alice',
    ]);
    expect(parse('claude').find(({ type }) => type === 'usage')).toMatchObject({ costUsd: expect.closeTo(0.0135) });
  });

  test('of opencode', () => {
    expect(told('opencode')).toEqual([
      'call substrat:send_message (ours)',
      'result (ours)',
      'text done: sent to bob by alice',
      'usage 1000 20',
      'done done: sent to bob by alice',
    ]);
  });

  test('of gemini, which announces no call but asks', () => {
    expect(told('gemini')).toEqual([
      'call substrat:send_message (ours)',
      'result (ours)',
      expect.stringMatching(/^text done: /),
      'usage 2000 40',
      expect.stringMatching(/^done done: /),
    ]);
  });

  test('of codex-acp, in pieces', () => {
    expect(told('codex').at(-1)).toMatch(/^done done: Wall time[\s\S]*sent to bob by alice/);
    expect(told('codex').filter((line) => line.startsWith('call'))).toEqual(['call substrat:send_message (ours)']);
  });
});

describe('the cost of a turn', () => {
  test('is what the session has cost since the last one', () => {
    const costs = new Map([['36409f51-26a6-43fb-873e-b37ff2506265', 0.01]]);
    const [usage] = parse('claude', costs, '36409f51-26a6-43fb-873e-b37ff2506265').filter(
      ({ type }) => type === 'usage',
    );
    expect(usage).toMatchObject({ costUsd: expect.closeTo(0.0035) });
  });

  test('is not known if the cost of the earlier turns is not', () => {
    const [usage] = parse('claude', new Map(), '36409f51-26a6-43fb-873e-b37ff2506265').filter(
      ({ type }) => type === 'usage',
    );
    expect(usage).not.toHaveProperty('costUsd');
  });
});
