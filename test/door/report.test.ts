import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const CONFIG = `
[daemon]
max_attempts = 1
time_zone = "Europe/Berlin"
[schedules.nightly]
cron = "0 3 * * *"
to = "echo"
text = "Good night"
`;

let world: TestDaemon;

beforeAll(async () => {
  world = await startDaemon({ config: CONFIG });
  const program = world.program(
    'echo',
    "({ messages }) => { if (messages[0].text === 'break') throw new Error('it broke'); return 'ok'; }",
  );
  await world.client.createAgent({ name: 'echo', program });
  for (const text of ['hello', 'break']) {
    const { messageId } = await world.client.sendMessage('echo', { text });
    await until('the answer', () => world.client.awaitReply(messageId, 5));
  }
});

afterAll(() => world.stop());

async function run(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runSubstrat(args, { home: world.home });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

describe('report', () => {
  test('shows what ran, what failed and what waits', async () => {
    await world.client.pauseAgent('echo');
    const text = await run(['report', '--since', '2h']);
    expect(text).toMatch(/2 runs, 1 completed, 1 failed/);
    expect(text).toMatch(/What failed\n.*echo.*it broke/);
    expect(text).toMatch(/What waits for you\necho is paused/);
    const { json } = await ask(world, '/api/report?since=2026-01-31');
    expect(json).toMatchObject({ total: { runs: 2 }, agents: [{ agent: 'echo', completed: 1, failed: 1 }] });
    expect((await runSubstrat(['report', '--since', 'ever'], { home: world.home })).stderr).toMatch(/--since must be/);
  });
});

describe('schedule', () => {
  test('adds, lists and removes; those of the configuration stay', async () => {
    expect(await run(['schedule', 'add', 'hourly', '--cron', '0 * * * *', '--to', 'echo', 'Look', 'again'])).toMatch(
      /Added the schedule hourly/,
    );
    const list = await run(['schedule', 'list']);
    expect(list).toMatch(/hourly +0 \* \* \* \* +echo/);
    expect(list).toMatch(/nightly +0 3 \* \* \* +echo/);
    const { json } = await ask(world, '/api/schedules');
    expect(json.items).toMatchObject([
      { name: 'hourly', origin: 'person', text: 'Look again' },
      { name: 'nightly', origin: 'configuration', timeZone: 'Europe/Berlin', runs: 20 },
    ]);
    expect(await run(['schedule', 'remove', 'hourly'])).toMatch(/Removed/);
    expect((await runSubstrat(['schedule', 'remove', 'nightly'], { home: world.home })).stderr).toMatch(
      /in the configuration/,
    );
  });
});
