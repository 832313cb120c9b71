import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { runSubstrat, start } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');

test('a program that really crashes the daemon is set aside, and its agent waits for the person', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'poison-'));
  const [home, armed, count, program] = ['home', 'armed', 'count', 'poison.ts'].map((name) =>
    join(directory, name),
  ) as [string, string, string, string];
  writeFileSync(
    program,
    `import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { runAgent } from '${SCRIPTED}';
await runAgent(async () => {
  if (!existsSync('${armed}')) return 'harmless';
  appendFileSync('${count}', 'x');
  process.kill(Number(readFileSync('${join(home, 'daemon.pid')}', 'utf8')), 'SIGKILL');
  await new Promise(() => {});
});
`,
  );
  writeFileSync(armed, '');
  writeFileSync(count, '');
  const client = createClient({ home });
  const daemons: ChildProcess[] = [];
  const run = async () => {
    const daemon = start(['up', '--quiet'], { home });
    daemons.push(daemon);
    return once(daemon, 'exit');
  };
  const answers = () => until('the daemon answers', () => client.getStatus().catch(() => null));
  onTestFinished(async () => {
    daemons.at(-1)?.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });

  let exited = run();
  await answers();
  await client.createAgent({ name: 'bad', program });
  const { messageId } = await client.sendMessage('bad', { text: 'do it' });
  expect((await exited)[1]).toBe('SIGKILL');
  expect((await run())[1]).toBe('SIGKILL');
  // An orderly stop clears it, and the count starts again.
  rmSync(armed);
  writeFileSync(program, readFileSync(program, 'utf8').replace("return 'harmless'", 'await new Promise(() => {})'));
  exited = run();
  await answers();
  await until('the turn', async () => (await client.getAgent('bad')).state === 'busy');
  daemons.at(-1)?.kill('SIGTERM');
  expect((await exited)[0]).toBe(0);
  writeFileSync(armed, '');
  for (let deaths = 0; deaths < 3; deaths += 1) expect((await run())[1]).toBe('SIGKILL');

  exited = run();
  await answers();
  expect(readFileSync(count, 'utf8')).toBe('xxxxx');
  const reason = expect.stringMatching(/^The daemon died 3 times in a row while the run /);
  const status = { kind: 'paused', reason, since: expect.stringMatching(/Z$/), until: null };
  expect(await client.getAgent('bad')).toMatchObject({ state: 'idle', paused: { reason }, status });
  expect(await client.awaitReply(messageId, 5)).toMatchObject({ kind: 'error' });
  rmSync(armed);
  writeFileSync(program, readFileSync(program, 'utf8').replace('await new Promise(() => {});', "return 'harmless';"));
  const later = await client.sendMessage('bad', { text: 'again' });
  expect((await runSubstrat(['agent', 'inspect', 'bad'], { home })).stdout).toMatch(/paused .*The daemon died/);
  expect(await runSubstrat(['agent', 'resume', 'bad'], { home })).toMatchObject({ code: 0, stdout: 'Resumed bad.\n' });
  expect(await client.awaitReply(later.messageId, 20)).toMatchObject({ text: 'harmless' });
  expect((await runSubstrat(['agent', 'resume', 'bad'], { home })).stderr).toContain(
    'bad is neither paused nor gated.',
  );
  daemons.at(-1)?.kill('SIGTERM');
  expect((await exited)[0]).toBe(0);
}, 90_000);
