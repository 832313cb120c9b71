import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../helpers/daemon.ts';
import { hasPgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';

const AGENTS = 12;

if (!hasPgBouncer) console.warn('Skipped: PgBouncer. It is not installed (Debian: pgbouncer).');

describeOnPostgres('behind PgBouncer in transaction mode', () => {
  test.skipIf(!hasPgBouncer)('a daemon with prepared = false works as always, on few connections', async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    const { url, stop } = await startPgBouncer(database.url);
    onTestFinished(stop);
    const settings = `prepared = false\ndirect_url = ${JSON.stringify(database.url)}`;
    const daemon = await startDaemon({ database: url, db: settings });
    onTestFinished(() => daemon.stop());
    const program = daemon.program('echo', 'async ({ messages }) => "echo " + messages[0].text');
    const names = Array.from({ length: AGENTS }, (_, n) => `echo-${n}`);
    for (const name of names) await daemon.client.createAgent({ name, program });
    const answers = await Promise.all(
      names.map(async (name) => {
        const { messageId } = await daemon.client.sendMessage(name, { text: `hello ${name}` });
        return (await daemon.client.awaitReply(messageId, 30))?.text;
      }),
    );
    expect(answers).toEqual(names.map((name) => `echo hello ${name}`));
    const seen: number[] = [];
    let replies = 0;
    for await (const { seq, type } of daemon.client.followEvents({ after: 0 })) {
      seen.push(seq);
      if (type === 'run_ended') replies += 1;
      if (replies === AGENTS) break;
    }
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => i + 1));
    expect(daemon.log()).not.toContain('lost');
  });
});
