// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { deleteSecret, listSecrets, setSecret, withSecrets } from './secrets.ts';
import { examineFound } from './trust.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'substrat-secrets-'));
});
afterEach(() => rmSync(home, { recursive: true }));

test('only the owner can read a secret, and a configuration can use it without a variable', () => {
  setSecret(home, 'HOOK_SECRET', 'old');
  setSecret(home, 'HOOK_SECRET', 'new\nline');
  expect(statSync(join(home, 'secrets/HOOK_SECRET')).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, 'secrets')).mode & 0o777).toBe(0o700);
  writeFileSync(join(home, 'config.toml'), '[notify]\nsecret = "${HOOK_SECRET}"\nurl = "https://example.com/hook"\n');
  expect(loadConfig({ cwd: home, home, env: {} }).notify.secret).toBe('new\nline');
  expect(listSecrets(home)).toEqual(['HOOK_SECRET']);
});

test('a secret wins over a variable, so that a service and a shell have the same', () => {
  setSecret(home, 'KEY', 'secret');
  expect(withSecrets({ KEY: 'variable', OTHER: 'x' }, home)).toEqual({ KEY: 'secret', OTHER: 'x' });
  deleteSecret(home, 'KEY');
  expect(withSecrets({ KEY: 'variable' }, home)).toEqual({ KEY: 'variable' });
  expect(() => deleteSecret(home, 'KEY')).toThrow('There is no secret KEY.');
});

test('names are names of variables, and not those that programs depend on', () => {
  for (const name of ['', '../x', 'a-b', '1A', 'a/b']) {
    expect(() => setSecret(home, name, 'x')).toThrow('is not a valid name');
  }
  for (const name of ['PATH', 'HOME', 'NODE_OPTIONS']) expect(() => setSecret(home, name, 'x')).toThrow('cannot be a');
  expect(() => setSecret(home, 'A', '')).toThrow('is empty');
  expect(() => setSecret(home, 'A', 'x'.repeat(65 * 1024))).toThrow('longer than 64 KiB');
});

test('what trust shows of a configuration does not contain secrets', () => {
  setSecret(home, 'REPOSITORY', 'secret-path');
  const file = join(home, 'ctx.toml');
  writeFileSync(file, '[connectors.git.x]\nurl = "https://example.com/${REPOSITORY}"\n');
  expect(JSON.stringify(examineFound({ file, cwd: home, home, env: {} }).wants)).not.toContain('secret-path');
});

test('a link is not followed, and access of others is removed', () => {
  setSecret(home, 'KEY', 'value');
  chmodSync(join(home, 'secrets/KEY'), 0o644);
  expect(withSecrets({}, home)).toEqual({ KEY: 'value' });
  expect(statSync(join(home, 'secrets/KEY')).mode & 0o777).toBe(0o600);
  symlinkSync('/etc/hostname', join(home, 'secrets/LINK'));
  expect(() => withSecrets({}, home)).toThrow('The secret LINK');
});
