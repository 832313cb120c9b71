import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ctxLauncher } from '../helpers/ctx.ts';
import { runSubstrat } from '../helpers/substrat.ts';

test('ctx registry fetches nothing before its configuration is trusted, then installs and lists', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'substrat-registry-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const place = (path: string) => join(directory, path);
  for (const name of ['remote/tools', 'project']) mkdirSync(place(name), { recursive: true });
  writeFileSync(place('remote/tools/shout.lua'), 'return {}');
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', place('remote'), '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'x');
  writeFileSync(place('project/ctx.toml'), `[db]\npath = "ctx.db"\n[registries.team]\nurl = "${place('remote')}"\n`);
  const ctx = (...args: string[]) =>
    runSubstrat(args, { home: place('home'), cwd: place('project'), program: ctxLauncher, env: {} });

  const refused = await ctx('registry', 'install');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('with git ([registries.team])') });
  expect(existsSync(place('home/registries'))).toBe(false);
  expect((await ctx('registry', 'install', '--trust')).stdout).toMatch(
    /^team: installed at commit \w{12}, 1 scripts\n$/,
  );
  expect((await ctx('registry', 'list', '--trust')).stdout).toMatch(/tools\/shout +team/);
});
