import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VERSION } from '../../src/core/version.ts';
import { runSubstrat } from '../helpers/substrat.ts';

let home: string;
let version: string;
// Answers as an older daemon: agents without the fields that were added since, and no newer routes.
const older = createServer((request, response) => {
  const status = { pid: process.pid, url: 'http://127.0.0.1:1', home, version };
  const known: Record<string, object> = {
    '/api/status': status,
    '/api/agents': { items: [{ id: 'a' }], nextCursor: null },
    '/api/requests': { items: [], nextCursor: null },
    '/api/runs': { items: [], nextCursor: null },
  };

  const path = new URL(request.url ?? '', 'http://daemon').pathname;
  const error = { code: 'not_found', message: `There is no GET ${path}.` };
  response.writeHead(known[path] ? 200 : 404).end(JSON.stringify(known[path] ?? { error }));
});

beforeEach(async () => {
  version = '0.1.0';
  home = mkdtempSync(join(tmpdir(), 'older-'));
  await new Promise<void>((resolve) => older.listen(join(home, 'daemon.sock'), resolve));
});
afterEach(async () => {
  await new Promise((resolve) => older.close(resolve));
  rmSync(home, { recursive: true });
});

test('a command that an older daemon does not understand says which version runs and how to restart it', async () => {
  const differs = `The daemon is version 0.1.0 and this command is version ${VERSION}. Run \`substrat daemon stop\``;
  const listed = await runSubstrat(['agent', 'list'], { home });
  expect(listed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^substrat: The daemon is version 0\.1\.0/) });
  const inspected = await runSubstrat(['budget', 'list'], { home });
  expect(inspected.stderr).toMatch(/^substrat: There is no GET \S+ The daemon/);
  expect(inspected.stderr).toContain(differs);
});

test('a failure with a daemon of the same version has only its own words', async () => {
  version = VERSION;
  const { code, stderr } = await runSubstrat(['budget', 'list'], { home });
  expect(code).toBe(1);
  expect(stderr).not.toContain('this command is version');
});
