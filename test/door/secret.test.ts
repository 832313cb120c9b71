// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { filesIn } from '../helpers/daemon.ts';
import { launcher, runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

async function setSecret(home: string, name: string, value: string) {
  const env = { PATH: process.env.PATH, HOME: home, SUBSTRAT_HOME: home };
  const child = spawn(launcher, ['secret', 'set', name], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(value);
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

test('a daemon without variables of a shell uses a secret, and no file but its own has it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'secret-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, 'empty'));
  const VALUE = 'sk-never-in-a-log';
  expect(await setSecret(home, 'ANTHROPIC_API_KEY', `${VALUE}\n`)).toEqual({
    code: 0,
    stdout: 'Set ANTHROPIC_API_KEY.\n',
    stderr: '',
  });
  expect(await setSecret(home, 'HOOK', 'h-never-in-a-log')).toMatchObject({ code: 0 });
  writeFileSync(
    join(home, 'config.toml'),
    '[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n[providers.llm]\nmodel = "anthropic/x"\n[notify]\nurl = "https://example.com"\nsecret = "${HOOK}"\n',
  );
  const where = { home, cwd: home };
  expect((await runSubstrat(['secret', 'list'], where)).stdout).toBe('ANTHROPIC_API_KEY\nHOOK\n');
  const daemon = await startDaemonProcess(where);
  const { items } = await daemon.client.listProviders();
  expect(items.find(({ name }) => name === 'llm')?.login).toBe('key');
  const again = await setSecret(home, 'HOOK', 'h-never-in-a-log');
  expect(again.stdout).toContain('Restart the daemon');
  const backup = join(home, 'backup.tar');
  expect((await runSubstrat(['backup', backup], where)).code).toBe(0);
  await daemon.stop();
  const holders = filesIn(home).filter((path) => {
    try {
      return /never-in-a-log/.test(readFileSync(path, 'latin1'));
    } catch {
      return false;
    }
  });
  expect(holders.sort()).toEqual([join(home, 'secrets/ANTHROPIC_API_KEY'), join(home, 'secrets/HOOK')]);
  expect(await runSubstrat(['secret', 'delete', 'HOOK'], where)).toMatchObject({ code: 0, stdout: 'Deleted HOOK.\n' });
  const { stdout: found } = await runSubstrat(['doctor'], where);
  expect(found).toContain('[notify] is disabled: the environment variable HOOK is not set.');
  expect(found).toContain('substrat secret set');
  // A value as an argument would be in the history of the shell and in the list of processes.
  expect(await runSubstrat(['secret', 'set', 'HOOK', 'value'], where)).toMatchObject({ code: 2 });
});
