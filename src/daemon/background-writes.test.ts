import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noBwrap } from '../../test/helpers/bwrap.ts';
import { startDaemon, type TestDaemon } from '../../test/helpers/daemon.ts';
import { connectAgent } from '../../test/helpers/mcp.ts';
import { troubleIn } from '../../test/helpers/repeating-store.ts';
import { until } from '../../test/helpers/until.ts';

type Trouble = ReturnType<typeof troubleIn>;

/** Resolves when this many reads and writes have failed. */
const afterFailures = (trouble: Trouble, failures: number) =>
  until('the store has failed', () => trouble.failed >= failures);

function makeRepository({ directory }: TestDaemon): string {
  const repository = join(directory, 'site');
  mkdirSync(repository);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository });
  git('init', '--quiet', '--initial-branch=main');
  git('-c', 'user.name=Anna', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'First');
  return repository;
}

/** Terminates an agent in a worktree while the store starts to fail. */
async function terminated(
  daemon: TestDaemon,
  begin: (trouble: Trouble) => void,
  work: (at: string) => void = () => {},
) {
  const repository = makeRepository(daemon);
  const wish = { name: 'mason', provider: 'external', workspace: repository, worktree: true };
  const { id, workspace } = await daemon.client.createAgent(wish);
  work(workspace);
  const trouble = troubleIn(daemon.daemon.store);
  const ending = daemon.daemon.api.terminateAgent(id, 'a test');
  begin(trouble);
  await ending;
  return { trouble, workspace };
}

const notices = async ({ client }: TestDaemon) => (await client.listInbox()).items.map(({ text }) => text);

test.skipIf(noBwrap !== null)('a worktree is removed when the store is back', async () => {
  await using daemon = await startDaemon({ sandbox: 'bwrap' });
  const { trouble, workspace } = await terminated(daemon, (begun) => {
    begun.reads = true;
  });
  await afterFailures(trouble, 3);
  expect(existsSync(workspace)).toBe(true);
  trouble.writes = true;
  trouble.reads = false;
  await afterFailures(trouble, trouble.failed + 3);
  trouble.writes = false;
  await until('it is gone', () => !existsSync(workspace));
  await until('it is forgotten', async () => (await daemon.client.listWorkspaces()).items.length === 0);
  expect(await notices(daemon)).toEqual([]);
});

test.skipIf(noBwrap !== null)(
  'a worktree is removed though nobody knows whether it was marked as deleted',
  async () => {
    await using daemon = await startDaemon({ sandbox: 'bwrap' });
    const { trouble, workspace } = await terminated(daemon, (begun) => {
      begun.reads = true;
    });
    await afterFailures(trouble, 1);
    trouble.doubts = 1;
    trouble.reads = false;
    await until('it is gone', () => !existsSync(workspace));
    await until('it is forgotten', async () => (await daemon.client.listWorkspaces()).items.length === 0);
    expect([await notices(daemon), trouble.doubts]).toEqual([[], 0]);
  },
);

test('the person is told of a worktree that is kept when the store is back, once', async () => {
  await using daemon = await startDaemon();
  const draft = (at: string) => writeFileSync(join(at, 'draft'), '');
  const { trouble } = await terminated(
    daemon,
    (begun) => {
      begun.reads = true;
    },
    draft,
  );
  await afterFailures(trouble, 1);
  trouble.writes = true;
  trouble.reads = false;
  await afterFailures(trouble, 4);
  trouble.writes = false;
  await until('a notice', async () => (await notices(daemon)).length > 0);
  expect(await notices(daemon)).toEqual([expect.stringMatching(/^mason was terminated. The worktree .* was kept/)]);
});

test('the socket of an external agent that completed is closed when the store is back', async () => {
  await using daemon = await startDaemon({ members: { lead: {}, me: { parent: 'lead' } } });
  const { id } = daemon.agent('me');
  const socket = join(daemon.home, 'agents', id, 'agent.sock');
  const me = await connectAgent({ home: daemon.home, agentId: id });
  expect((await me.call('complete', { result: 'done' })).isError).toBe(false);
  const trouble = troubleIn(daemon.daemon.store);
  trouble.reads = true;
  await me.close();
  await afterFailures(trouble, 3);
  expect(existsSync(socket)).toBe(true);
  trouble.reads = false;
  await until('it is closed', () => !existsSync(socket));
});

test('a stop clears the runs of suspicion when the store is back', async () => {
  await using daemon = await startDaemon();
  const program = daemon.program(
    'resting',
    `async () => {
      console.log(JSON.stringify({ type: 'error', kind: 'rate_limit', message: 'later' }));
      await new Promise(() => {});
    }`,
  );
  await daemon.client.createAgent({ name: 'resting', program });
  await daemon.client.sendMessage('resting', { text: 'go' });
  const { store } = daemon.daemon;
  const resting = () => daemon.client.listRuns().then(({ items }) => items.find(({ state }) => state === 'created'));
  const { id } = await until('it rests', resting);
  await store.write((tx) => tx.runs.setDeaths({ id, deaths: 1, deathsEver: 1, records: 0 }));
  const trouble = troubleIn(store);
  const { close } = store;
  let deaths: number | undefined;
  Object.assign(store, {
    close: async () => {
      deaths = (await store.read((tx) => tx.runs.getRun({ id })))?.deaths;
      await close();
    },
  });
  trouble.writes = true;
  const stopped = daemon.stop();
  await afterFailures(trouble, 3);
  trouble.writes = false;
  await stopped;
  expect(deaths).toBe(0);
});

test('members whose persona can be used again are made when the store is back, in their channels and with their memory', async () => {
  const sage = 'agent = { tools = {} } function agent.resolve() return { system = "s" } end';
  const config = `[agents.script.sage]\npath = "sage.lua"
[members.sage]\nprovider = "external"\npersona = "sage"\nblocks = { mood = "calm" }
[members.pupil]\nparent = "sage"
[channels.hall]\nmembers = ["sage", "sage/pupil"]
[channels.yard]\nmembers = ["sage"]\n`;
  await using daemon = await startDaemon({ files: { 'sage.lua': 'agent = {}\nfunction agent.resolve( end' }, config });
  const trouble = troubleIn(daemon.daemon.store);
  trouble.reads = true;
  writeFileSync(join(daemon.directory, 'sage.lua'), sage);
  await afterFailures(trouble, 2);
  trouble.writes = true;
  trouble.reads = false;
  await afterFailures(trouble, trouble.failed + 2);
  // For the two agents and the first channel.
  trouble.doubts = 3;
  trouble.writes = false;
  const membersOf = async (channel: string) => (await daemon.client.listMembers(channel)).items.length;
  await until('they are in the hall', async () => (await membersOf('hall')) === 3);
  await until('one is in the yard', async () => (await membersOf('yard')) === 2);
  expect((await daemon.client.listBlocks('sage')).items).toMatchObject([{ label: 'mood', text: 'calm' }]);
  const { id } = await daemon.client.getAgent('sage');
  expect(existsSync(join(daemon.home, 'agents', id, 'agent.sock'))).toBe(true);
});
