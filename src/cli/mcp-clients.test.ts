import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { installServer, MCP_CLIENTS, uninstallServer } from './mcp-clients.ts';

const server = { command: '/node', args: ['/bridge.cjs', '--agent-id', 'x'], env: { SUBSTRAT_SOCKET: '/s' } };
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'clients-'));
  vi.stubEnv('HOME', cwd);
  vi.stubEnv('CODEX_HOME', join(cwd, 'codex'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(cwd, { recursive: true });
});

function clientNamed(name: string) {
  const client = MCP_CLIENTS[name];
  if (!client) throw new Error(name);
  return client;
}

describe.each(Object.keys(MCP_CLIENTS))('%s', (name) => {
  const others = (table: string | null): string =>
    table === null
      ? '# mine\nmodel = "o3"\n\n[mcp_servers.docs]\ncommand = "ctx"\n'
      : `${JSON.stringify({ theme: 'dark', [table]: { docs: { command: 'ctx' } } }, null, 4)}\n`;

  test('gets the server, keeps what it had, and is as before when it is removed', () => {
    const client = clientNamed(name);
    const file = client.file(cwd);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, others(client.table), { mode: 0o640 });
    expect(installServer(client, server, cwd)).toBe(file);
    installServer(client, { ...server, args: ['/bridge.cjs', '--agent-id', 'y'] }, cwd);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('ctx');
    expect(text.match(/--agent-id/g)).toHaveLength(1);
    expect(text).toMatch(/"y"/);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(uninstallServer(client, cwd)).toBe(file);
    expect(readFileSync(file, 'utf8')).toBe(others(client.table));
    expect(uninstallServer(client, cwd)).toBeNull();
  });

  test('gets a new file, which goes away with the server', () => {
    const client = clientNamed(name);
    const file = installServer(client, server, cwd);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(uninstallServer(client, cwd)).toBe(file);
    expect(existsSync(file)).toBe(false);
  });
});

test('a file with comments, and a server of the same name that is not ours, are left alone', () => {
  const vscode = clientNamed('vscode');
  const file = vscode.file(cwd);
  mkdirSync(dirname(file));
  for (const [text, problem] of [
    ['{ // mine\n}', /not plain JSON/],
    ['{"servers": {"substrat": {"command": "other"}}}', /not Substrat's/],
  ] as const) {
    writeFileSync(file, text);
    expect(() => installServer(vscode, server, cwd)).toThrow(problem);
    expect(readFileSync(file, 'utf8')).toBe(text);
  }
});

test('a link to the file stays a link', () => {
  const claude = clientNamed('claude');
  writeFileSync(join(cwd, 'real.json'), '{}\n');
  symlinkSync('real.json', claude.file(cwd));
  installServer(claude, server, cwd);
  expect(readFileSync(join(cwd, 'real.json'), 'utf8')).toContain('--agent-id');
});
