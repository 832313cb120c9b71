import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFaults, openBrowser, openPage } from '../helpers/browser.ts';
import { startDaemon } from '../helpers/daemon.ts';

const IDENTITY = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];

test('files and changes of a workspace are shown, and comments on lines go to the agent as one message', {
  timeout: 60_000,
}, async () => {
  await using world = await startDaemon({ members: { ada: {} }, sandbox: 'bwrap' });
  const { workspace } = await world.client.getAgent('ada');
  const git = (...args: string[]) => execFileSync('git', [...IDENTITY, ...args], { cwd: workspace });
  mkdirSync(join(workspace, 'src'));
  writeFileSync(join(workspace, 'src/handler.ts'), 'const one = 1;\nconst two = 2;\n');
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'base');
  writeFileSync(join(workspace, 'src/handler.ts'), 'const one = 1;\nconst two = "evil \u202Etxt";\nconst three = 3;\n');
  const browser = await openBrowser();
  const { page, problems, close } = await openPage(browser, world.client, { at: '/workspaces/ada' });
  await page.getByRole('link', { name: 'src' }).click();
  await page.getByRole('link', { name: 'handler.ts' }).click();
  const file = page.getByRole('region', { name: 'File' });
  await file.getByText('const three = 3;').waitFor();
  expect(await file.textContent()).toContain('⟨U+202E⟩');
  expect(await findFaults(page)).toEqual([]);
  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByRole('link', { name: /handler\.ts/ }).click();
  const changes = page.getByRole('region', { name: 'Changes of src/handler.ts' });
  await changes.getByRole('button', { name: 'Comment on line 3', exact: true }).click();
  await changes.getByLabel('Comment on line 3', { exact: true }).last().fill('Why three?');
  await page.keyboard.press('Enter');
  await changes.getByRole('button', { name: 'Comment on removed line 2' }).click();
  await changes.getByRole('textbox').fill('Keep this.');
  await page.keyboard.press('Enter');
  expect(await findFaults(page)).toEqual([]);
  // They outlive the page until they are sent.
  await page.reload();
  await page.getByRole('button', { name: 'Send 2 comments to ada' }).click();
  await page.getByRole('log').getByText('Why three?').waitFor();
  const { items } = await world.client.listMessages('ada');
  expect(items).toHaveLength(1);
  expect(items[0]?.text).toMatch(
    /`src\/handler\.ts`, line 2 \(removed\):.*Keep this\..*line 3:.*> \+ const three = 3;.*Why three\?/s,
  );
  expect(problems).toEqual([]);
  await close();
  await browser.close();
});
