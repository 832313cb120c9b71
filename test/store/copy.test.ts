import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { ctxLauncher } from '../helpers/ctx.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';

const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');

describeOnPostgres('substrat store copy', () => {
  test('moves a home from SQLite to PostgreSQL: agents, messages, memory and knowledge go on there', async () => {
    const database = await createDatabase();
    const directory = mkdtempSync(join(tmpdir(), 'copy-'));
    onTestFinished(async () => {
      rmSync(directory, { recursive: true });
      await database.drop();
    });
    const home = join(directory, 'home');
    const config = join(directory, 'substrat.toml');
    mkdirSync(home, { mode: 0o700 });
    mkdirSync(join(directory, 'docs'));
    writeFileSync(join(directory, 'docs/heron.md'), '# Birds\n\nThe heron waits in shallow water.\n');
    writeFileSync(
      join(directory, 'echo.ts'),
      `import { runAgent } from '${SCRIPTED}';\nawait runAgent(async ({ messages }) => 'echo ' + messages[0].text);\n`,
    );
    const knowledge = `[connectors.filesystem.docs]\nroot = "${join(directory, 'docs')}"\n`;
    const configure = (db: string) =>
      writeFileSync(config, `${db}[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n${knowledge}`);
    const run = (...args: string[]) => runSubstrat(args, { home, config });
    const ask = async (client: Awaited<ReturnType<typeof startDaemonProcess>>['client'], text: string) => {
      const { messageId } = await client.sendMessage('echo', { text });
      return (await client.awaitReply(messageId, 30))?.text;
    };

    configure('');
    const before = await startDaemonProcess({ home, config });
    onTestFinished(() => void before.kill());
    await before.client.createAgent({ name: 'echo', program: join(directory, 'echo.ts') });
    expect(await ask(before.client, 'first')).toBe('echo first');
    await before.client.storePassage('echo', { content: 'The zebra has stripes.', tags: ['animals'] });
    const copy = ['store', 'copy', '--config', config, '--to', database.url];
    expect((await run(...copy)).stderr).toContain('already running');
    await before.stop();
    const synced = await runSubstrat(['sync', 'all', '--config', config], { home, program: ctxLauncher, config });
    expect(synced).toMatchObject({ code: 0 });
    expect(await run(...copy)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Copied and compared \d+ rows/),
    });
    expect((await run(...copy)).code).toBe(1);

    configure(`[db]\nurl = "${database.url}"\n`);
    const after = await startDaemonProcess({ home, config });
    onTestFinished(() => void after.kill());
    expect(await ask(after.client, 'second')).toBe('echo second');
    expect((await after.client.listPassages('echo', { q: 'stripes' })).items).toHaveLength(1);
    const said = (await after.client.listMessages('echo')).items.map(({ text }) => text);
    expect(said).toEqual(expect.arrayContaining(['first', 'echo first', 'second', 'echo second']));
    const { results } = await after.client.searchKnowledge({ query: 'heron' });
    expect(results).toHaveLength(1);
    await after.stop();
  });

  test('does not accept a copy that differs', async () => {
    const database = await createDatabase();
    const home = mkdtempSync(join(tmpdir(), 'copy-'));
    onTestFinished(async () => {
      rmSync(home, { recursive: true });
      await database.drop();
    });
    const daemon = await startDaemonProcess({ home });
    await daemon.client.createAgent({ name: 'ann', provider: 'external' });
    await daemon.stop();
    // Something of the database's owner that changes what is stored.
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`create function spoil() returns event_trigger language plpgsql as $$ begin
      if to_regclass('agents') is not null and to_regproc('louder') is null then
        create function louder() returns trigger language plpgsql as $f$ begin new.role := upper(new.role); return new; end $f$;
        create trigger louder before insert on agents for each row execute function louder();
      end if; end $$`);
    await client.query(
      "create event trigger spoil on ddl_command_end when tag in ('CREATE TABLE') execute function spoil()",
    );
    await client.end();
    const { code, stderr } = await runSubstrat(['store', 'copy', '--to', database.url], { home });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('agents has other contents') });
  });
});
