import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startDaemon } from '../../test/helpers/daemon.ts';
import { loadConfig } from '../config/config.ts';
import { chooseProvider, loginOf } from './provider-choice.ts';

/** A machine with these programs. */
function machine(...programs: string[]) {
  const home = mkdtempSync(join(tmpdir(), 'choice-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  for (const name of programs) writeFileSync(join(bin, name), '#!/bin/sh\necho 99.0.0\n', { mode: 0o755 });
  const logIn = (file: string) => {
    mkdirSync(join(home, file, '..'), { recursive: true });
    writeFileSync(join(home, file), '{}');
  };
  return { env: { PATH: bin, HOME: home }, logIn };
}

const configured = (source = '') => loadConfig({ cwd: '/', home: '/nowhere', env: {}, file: 'x.toml', source });

test('the first provider with a program and a login is chosen, in a fixed order', () => {
  const { env, logIn } = machine('claude', 'codex', 'opencode', 'gemini');
  expect(chooseProvider(configured(), env, null)).toBeNull();
  const gemini = configured('[providers.gemini]\nenv = { GEMINI_API_KEY = "k" }\n');
  expect(chooseProvider(gemini, env, null)).toBe('gemini');
  logIn('.local/share/opencode/auth.json');
  expect(chooseProvider(gemini, env, null)).toBe('opencode');
  logIn('.codex/auth.json');
  expect(chooseProvider(gemini, env, null)).toBe('codex');
  logIn('.claude/.credentials.json');
  expect(chooseProvider(gemini, env, null)).toBe('claude');
  expect(loginOf(gemini, env, 'gemini')).toBe('key');
  expect(loginOf(gemini, env, 'claude')).toBe('login');
  expect(loginOf(gemini, env, 'qwen')).toBe('none');
  expect(loginOf(gemini, env, 'scripted')).toBe('not_needed');
});

test('a login without the program is not enough, nor is a program that only runs what a person names', () => {
  const { env, logIn } = machine('node');
  logIn('.claude/.credentials.json');
  expect(chooseProvider(configured(), env, null)).toBeNull();
});

test('a model is chosen last, and only if its service can be asked', () => {
  const { env, logIn } = machine('claude');
  const config = configured('[providers.llm]\nmodel = "anthropic/claude-sonnet-5"\n');
  expect(chooseProvider(config, env, null)).toBeNull();
  expect(chooseProvider(config, { ...env, ANTHROPIC_API_KEY: 'k' }, null)).toBe('llm');
  expect(chooseProvider(configured(), env, 'ollama/qwen3')).toBe('llm');
  expect(loginOf(configured(), env, 'llm', { model: 'ollama/qwen3' })).toBe('not_needed');
  logIn('.claude/.credentials.json');
  expect(chooseProvider(config, env, null)).toBe('claude');
});

test('an agent that names no provider gets the first one, unless the configuration has a default', async () => {
  const { env, logIn } = machine('codex');
  logIn('.codex/auth.json');
  await using world = await startDaemon();
  vi.stubEnv('PATH', env.PATH);
  vi.stubEnv('HOME', env.HOME);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await world.client.createAgent({ name: 'first' })).toMatchObject({ provider: 'codex' });
  vi.stubEnv('HOME', '/nowhere');
  await expect(world.client.createAgent({ name: 'second' })).rejects.toThrow(/No provider was found with a login/);
  const fallback = { name: 'third', provider: 'external', fallback: ['codex', 'external'] };
  await expect(world.client.createAgent(fallback)).rejects.toThrow(/cannot take over/);
  await expect(world.client.createAgent({ ...fallback, fallback: ['codex:'] })).rejects.toThrow(/PROVIDER:MODEL/);
  await expect(world.client.createAgent({ ...fallback, fallback: null, maySpawn: ['cdex'] })).rejects.toThrow(/cdex/);
});
