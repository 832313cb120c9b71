import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startDaemon } from '../../test/helpers/daemon.ts';

test('every provider is listed with version, login and limits, also while a program does not answer', async () => {
  const home = mkdtempSync(join(tmpdir(), 'list-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const install = (name: string, body: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  install('claude', 'echo "2.1.325 (Claude Code)"');
  install('codex', 'echo "codex-cli 0.1.0"');
  install('gemini', 'exec /bin/sleep 5');
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/.credentials.json'), '{}');
  vi.stubEnv('PATH', bin);
  vi.stubEnv('HOME', home);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using world = await startDaemon({
    config: '[daemon]\ndefault_provider = "claude"\n[providers.gemini]\nenv = { GEMINI_API_KEY = "secret" }\n',
    members: { lead: { provider: 'external' } },
  });
  const limit = { provider: 'claude', account: '', treeId: 't', reason: 'Used up.', at: 1 };
  const until = Date.now() + 3_600_000;
  const { nodeId } = world.daemon.home;
  await world.daemon.store.write(async (tx) => {
    const { id: agentId } = world.agent('lead');
    await tx.limits.setLimit({ ...limit, nodeId, agentId, until, grade: 'reported' });
    await tx.limits.setLimit({ ...limit, nodeId, agentId: '', until, grade: 'metered' });
    await tx.limits.setLimit({ ...limit, nodeId, agentId: '', provider: 'codex', until: 1, grade: 'metered' });
  });
  const began = performance.now();
  const { items } = await world.client.listProviders();
  expect(performance.now() - began).toBeLessThan(4_500);
  const of = (name: string) => items.find((one) => one.name === name);
  const time = new Date(until).toISOString();
  expect(of('claude')).toEqual({
    ...{ name: 'claude', found: true, version: '2.1.325 (Claude Code)', problem: null, login: 'login' },
    ...{ accounts: [], isDefault: true },
    pricing: { kind: 'reported', every: null, models: {}, assumed: null, source: null, asOf: null },
    limits: expect.arrayContaining([
      { account: null, agent: 'lead', until: time, reason: 'Used up.', grade: 'reported' },
      { account: null, agent: null, until: time, reason: 'Used up.', grade: 'metered' },
    ]),
  });
  expect(of('codex')).toMatchObject({
    found: true,
    problem: expect.stringMatching(/0\.1\.0/),
    login: 'none',
    limits: [],
  });
  expect(of('gemini')).toMatchObject({ found: true, version: null, login: 'key' });
  expect(of('qwen')).toMatchObject({ found: false, version: null, problem: expect.stringMatching(/Install/) });
  expect(of('scripted')).toMatchObject({ found: true, login: 'not_needed' });
  expect(JSON.stringify(items)).not.toContain('secret');
}, 30_000);
