import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { openLog } from '../../src/daemon/log.ts';
import { startDaemon } from '../helpers/daemon.ts';

const bridge = join(import.meta.dirname, '../../bin/substrat-mcp-server');

test('a client that can ask the daemon for its status gets its address', async () => {
  const home = mkdtempSync(join(tmpdir(), 'substrat-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));
  mkdirSync(join(home, 'docs'));
  const config = loadConfig({ cwd: home, home, env: {} });
  const asked: (string | null)[] = [];
  let up = false;
  const client = createClient({ home });
  const askOn = async () => {
    while (!up || asked.length === 0) {
      await client.getStatus().then(
        ({ url }) => asked.push(url),
        () => new Promise(setImmediate),
      );
    }
  };
  const asking = Promise.all([askOn(), askOn(), askOn(), askOn()]);
  // A name, because resolving it takes a moment.
  const bind = { host: 'localhost', port: 0 };
  const started = {
    ...config,
    server: { ...config.server, bind },
    sandbox: { ...config.sandbox, mode: 'none' as const },
  };
  const daemon = await Daemon.start({
    home,
    config: started,
    version: '0.0.0',
    log: openLog(join(home, 'daemon.log')),
  });
  up = true;
  await asking;
  await daemon.stop();
  expect(asked).not.toContain(null);
});

test("the bridge names the agent's socket if it was given the daemon's", async () => {
  await using world = await startDaemon({ members: { me: {} } });
  const { id } = world.agent('me');
  const env = { PATH: process.env.PATH, SUBSTRAT_SOCKET: join(world.home, 'daemon.sock') };
  const failed = await promisify(execFile)(bridge, ['--agent-id', id], { env }).catch((error) => error);
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toContain(
    `Set SUBSTRAT_SOCKET to the agent's own socket, ${join(world.home, 'agents', id, 'agent.sock')};`,
  );
});
