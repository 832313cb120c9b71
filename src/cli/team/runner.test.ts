import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Choosing, chooseRunner } from './runner.ts';

type Listed = Awaited<ReturnType<Choosing['client']['listProviders']>>['items'][number];

const listed = (name: string, given: Partial<Listed> = {}): Listed => ({
  name,
  found: true,
  version: null,
  problem: null,
  login: 'login',
  accounts: [],
  isDefault: false,
  pricing: { kind: 'unknown', every: null, models: {}, assumed: null, source: null, asOf: null },
  limits: [],
  ...given,
});

describe('chooseRunner()', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'runner-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const choosing = (items: Listed[], given: Partial<Choosing> = {}): Choosing => ({
    client: { listProviders: async () => ({ items, nextCursor: null }) },
    home,
    provider: undefined,
    model: undefined,
    questions: null,
    fetchModels: async () => [],
    ...given,
  });
  const asked: string[] = [];
  const answering = (n: number | null, key: string | null = null) => ({
    choose: async (question: string, options: readonly string[]) => {
      asked.splice(0, asked.length, question, ...options);
      return n;
    },
    secret: async () => key,
  });

  const nobody = [listed('scripted', { login: 'not_needed' }), listed('claude', { login: 'none' })];

  test('takes the default of those that are installed and logged in', async () => {
    const items = [
      ...nobody,
      listed('codex', { found: false, problem: 'install it' }),
      listed('gemini'),
      listed('opencode', { isDefault: true }),
    ];
    expect((await chooseRunner(choosing(items)))?.runner).toEqual({ provider: 'opencode', model: null, program: null });
    const chosen = await chooseRunner(choosing(items, { questions: answering(1), model: 'm' }));
    expect(chosen?.runner).toEqual({ provider: 'gemini', model: 'm', program: null });
    expect(asked).toEqual(['What runs the agents?', 'opencode', 'gemini']);
    expect(await chooseRunner(choosing(items, { questions: answering(null) }))).toBeNull();
  });

  test('a named provider must exist and be installed', async () => {
    const items = [listed('codex', { found: false, problem: 'Install codex.' })];
    await expect(chooseRunner(choosing(items, { provider: 'codex' }))).rejects.toThrow('Install codex.');
    await expect(chooseRunner(choosing(items, { provider: 'x' }))).rejects.toThrow('there are codex, demo');
  });

  test('without a program, an API key becomes a secret', async () => {
    const chosen = await chooseRunner(choosing(nobody, { questions: answering(0, 'sk-1') }));
    expect(chosen).toEqual({
      runner: { provider: 'llm', model: 'anthropic/claude-sonnet-5', program: null },
      newKey: true,
    });
    expect(readFileSync(join(home, 'secrets/ANTHROPIC_API_KEY'), 'utf8')).toBe('sk-1');
    expect(asked).toHaveLength(5);
  });

  test('without a program, a local model or the demo', async () => {
    const local = { questions: answering(2), fetchModels: async () => ['qwen3:8b'] };
    expect((await chooseRunner(choosing(nobody, local)))?.runner.model).toBe('ollama/qwen3:8b');
    const unasked = choosing(nobody, { fetchModels: async () => ['qwen3:8b'] });
    expect((await chooseRunner(unasked))?.runner).toMatchObject({ provider: 'llm', model: 'ollama/qwen3:8b' });
    expect((await chooseRunner(choosing(nobody, { questions: answering(3) })))?.runner.provider).toBe('scripted');
    await expect(chooseRunner(choosing(nobody, { questions: answering(2) }))).rejects.toThrow('ollama pull');
    expect(await chooseRunner(choosing(nobody))).toMatchObject({ runner: { provider: 'scripted' }, lastResort: true });
  });
});
