import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setSecret } from '../../src/config/secrets.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { runSubstrat } from '../helpers/substrat.ts';

describe('day two', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startDaemon({
      config: `[providers.claude]\nenv = { ANTHROPIC_API_KEY = "planted-in-env" }\n[notify]\nurl = "https://example.com/planted-path"\nsecret = "planted-hook"\n[schedules.daily]\ncron = "0 9 * * *"\nto = "echo"\ntext = "planted-words"\n[policies.some]\ntool = "send_message"\naction = "deny"\narguments = { text = "planted-argument" }\n`,
    });
    const program = daemon.program('echo', `({ messages }) => '# Heard\\n' + messages.at(-1).text`);
    mkdirSync(join(daemon.directory, 'site/.git'), { recursive: true });
    mkdirSync(join(daemon.directory, 'empty'));
    const { client } = daemon;
    await client.createAgent({ name: 'echo', program, workspace: join(daemon.directory, 'site') });
    await client.createAgent({ name: 'other', provider: 'external' });
    const { messageId } = await client.sendMessage('echo', { text: 'planted-message' });
    await client.awaitReply(messageId, 20);
    await client.createChannel({ id: 'general', topic: 'Everything', members: [] });
    await client.postMessage('general', { text: 'first' });
    await client.postMessage('general', { text: '## second' });
  });
  afterAll(() => daemon.stop());
  const run = (args: string[], cwd?: string) => runSubstrat(args, { home: daemon.home, ...(cwd && { cwd }) });

  test('a channel and a run are exported as Markdown and as JSON', async () => {
    const { stdout } = await run(['channel', 'export', 'general']);
    expect(stdout).toMatch(/^# general\n\nEverything\n\n## USER, .*\n\n<!-- .* -->\n\nfirst\n/);
    // Its own headings are below those of the document.
    expect(stdout).toContain('\n#### second\n');
    const { messages } = JSON.parse((await run(['channel', 'export', 'general', '--json'])).stdout) as {
      messages: { text: string }[];
    };
    expect(messages.map(({ text }) => text)).toEqual(['first', '## second']);
    const [made] = (await daemon.client.listRuns({ agent: 'echo' })).items;
    const exported = await run(['run', 'export', made?.id ?? '']);
    expect(exported.stdout).toMatch(/^# echo\n\n- run: /);
    expect(exported.stdout).toContain('planted-message');
    expect(exported.stdout).toContain('### Heard');
    expect(JSON.parse((await run(['run', 'export', made?.id ?? '', '--json'])).stdout)).toMatchObject({
      agent: 'echo',
    });
  });

  test('--here shows the agents of the project', async () => {
    const here = await run(['agent', 'list', '--here', '--json'], join(daemon.directory, 'site'));
    const { items } = JSON.parse(here.stdout) as { items: { name: string }[] };
    expect(items.map(({ name }) => name)).toEqual(['echo']);
    const nobody = await run(['agent', 'list', '--here'], join(daemon.directory, 'empty'));
    expect(nobody.stdout).toContain('No agents work in');
  });

  test('a bundle for a report contains no secret and nothing that was written', async () => {
    setSecret(daemon.home, 'PLANTED', 'planted-secret');
    const token = readFileSync(join(daemon.home, 'token'), 'utf8').trim();
    const line = { level: 40, time: 1, header: 'Bearer planted0bearer', token, msg: 'planted-secret is in a message' };
    appendFileSync(join(daemon.home, 'daemon.log'), `${JSON.stringify(line)}\n`);
    const file = join(daemon.directory, 'report.zip');
    const config = join(daemon.directory, 'substrat.toml');
    const env = { SOME_TOKEN: 'planted-variable' };
    const written = await runSubstrat(['doctor', '--bundle', file, '--config', config], { home: daemon.home, env });
    expect(written.stdout).toContain(`Wrote ${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const entries = Object.entries(unzipSync(readFileSync(file)));
    expect(entries.map(([name]) => name)).toEqual(
      expect.arrayContaining(['doctor.json', 'daemon.log', 'status.json', 'runs.json']),
    );
    const all = entries.map(([, bytes]) => strFromU8(bytes)).join('\n');
    expect(all).toContain('claude');
    expect(all).toContain('is in a message');
    expect(all).not.toMatch(/planted/);
    expect(all).not.toContain(token);
    writeFileSync(join(daemon.directory, 'there'), '');
    const refused = await run(['doctor', '--bundle', join(daemon.directory, 'there')]);
    expect(refused.stderr).toContain('exists already');
  });
});
