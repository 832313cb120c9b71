import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { startDaemonProcess } from './substrat.ts';
import { until } from './until.ts';

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');
const CONFIG = `[daemon]
max_deaths = 0
default_provider = "scripted"
[server]
bind = "127.0.0.1:0"
[sandbox]
mode = "none"
[members.ann]
program = "agent.ts"
`;

/** A daemon with the scripted agent `ann`, whose turns run `turn`: the function that `runAgent` gets. */
export async function startCrashingDaemon(turn: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'crash-'));
  const home = join(cwd, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(cwd, 'agent.ts'), `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${turn});\n`);
  const config = join(cwd, 'substrat.toml');
  writeFileSync(config, CONFIG);
  let daemon = await startDaemonProcess({ home, config });
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  onTestFinished(async () => {
    database.close();
    await daemon.kill();
    rmSync(cwd, { recursive: true, force: true });
  });
  const client = createClient({ home });
  const lastEvent = database.prepare('select coalesce(max(seq), 0) from events').pluck();
  return {
    client,
    /** Kills the daemon as soon as `n` more events are stored, and starts it again. */
    async crashAfter(n: number): Promise<void> {
      const before = Number(lastEvent.get());
      await until(`event ${n}`, () => Number(lastEvent.get()) >= before + n);
      await daemon.kill();
      daemon = await startDaemonProcess({ home, config });
    },
    /** Sends a request to ann, again until it is stored. */
    send: (text: string) =>
      until('the request', () =>
        client.sendMessage('ann', { text, inReplyTo: null }, { idempotencyKey: `send ${text}` }).catch(() => null),
      ),
  };
}
