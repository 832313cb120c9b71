import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { noBwrap } from '../helpers/bwrap.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

/** Also `dead_after`. */
const LEASE_MS = 2_000;
const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');

/** A turn that writes a file again and again; in a sandbox, a child that left its session does, too. */
const TICKING = `async ({ messages }) => {
  const { appendFileSync } = await import('node:fs');
  const { spawn } = await import('node:child_process');
  if (messages[0].text === 'bwrap') spawn('/bin/sh', ['-c', 'while :; do echo >> child; sleep 0.05; done'], { detached: true, stdio: 'ignore' }).unref();
  for (;;) {
    appendFileSync('ticks', '.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}`;

async function startTicking(sandbox: 'bwrap' | 'none') {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'silence-')));
  const database = await createDatabase();
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(
    join(home, 'config.toml'),
    `[db]\nurl = "${database.url}"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "${sandbox}"\n[daemon]\nlease = "${LEASE_MS}ms"\n[node]\ndead_after = "${LEASE_MS}ms"\n`,
  );
  const daemon = await startDaemonProcess({ home, cwd: home });
  onTestFinished(async () => {
    await daemon.kill();
    await database.drop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  });
  const program = join(directory, 'ticking.ts');
  writeFileSync(program, `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${TICKING});\n`);
  const { workspace } = await daemon.client.createAgent({ name: 'ticking', program });
  await daemon.client.sendMessage('ticking', { text: sandbox });
  const files = sandbox === 'bwrap' ? ['ticks', 'child'] : ['ticks'];
  const sizes = () =>
    files.map((name) => (existsSync(join(workspace, name)) ? statSync(join(workspace, name)).size : 0)).join();
  await until('it is at work', () =>
    sizes()
      .split(',')
      .every((size) => Number(size) > 2),
  );
  const lastWrite = () => Math.max(...files.map((name) => statSync(join(workspace, name)).mtimeMs));
  const lastHeartbeat = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query('select seen_at from nodes');
    await client.end();
    return Number(rows[0].seen_at);
  };
  return { daemon, sizes, lastWrite, lastHeartbeat };
}

/** Whether nothing is written any more: several looks in a row find the same. */
async function standsStill(sizes: () => string): Promise<boolean> {
  const before = sizes();
  for (let look = 0; look < 10; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (sizes() !== before) return false;
  }
  return true;
}

describeOnPostgres('the turns of a daemon that is suspended', () => {
  test.skipIf(noBwrap)(
    'are ended before others may count it as dead, and tried again when it continues',
    async () => {
      const { daemon, sizes, lastWrite, lastHeartbeat } = await startTicking('bwrap');
      process.kill(daemon.pid, 'SIGSTOP');
      try {
        await until('the program is dead', () => standsStill(sizes));
        expect(lastWrite()).toBeLessThan((await lastHeartbeat()) + LEASE_MS);
      } finally {
        process.kill(daemon.pid, 'SIGCONT');
      }
      const before = sizes();
      await until('it is tried again', () => sizes() !== before);
    },
    60_000,
  );

  test('are ended without a sandbox, too; also of a daemon that was killed', async () => {
    const { daemon, sizes } = await startTicking('none');
    await daemon.kill();
    await until('the program is dead', () => standsStill(sizes));
  }, 60_000);
});
