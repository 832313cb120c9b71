import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'smol-toml';
import type { McpFile } from '../client/client.ts';
import { SubstratError } from '../core/errors.ts';

type McpServer = McpFile['mcpServers']['substrat'];

interface McpClient {
  /** Below the current directory if the client has a file per project, otherwise in the home directory. */
  readonly file: (cwd: string) => string;
  /** The table of servers in a JSON file; null for TOML. */
  readonly table: string | null;
  /** The entry as this client writes it. */
  readonly entry: (server: McpServer) => object;
  /** What to do so that the client notices. */
  readonly next: string;
}

const NAME = 'substrat';
const plain = (server: McpServer): object => ({ ...server });
const asServers = (table: string, file: McpClient['file'], next: string): McpClient => ({
  file,
  table,
  entry: plain,
  next,
});
const desktop = platform() === 'darwin' ? 'Library/Application Support/Claude' : join('.config', 'Claude');

export const MCP_CLIENTS: Readonly<Record<string, McpClient>> = {
  claude: asServers('mcpServers', (cwd) => join(cwd, '.mcp.json'), 'Start claude here and approve the server.'),
  'claude-desktop': asServers(
    'mcpServers',
    () => join(homedir(), desktop, 'claude_desktop_config.json'),
    'Restart Claude Desktop.',
  ),
  cursor: asServers(
    'mcpServers',
    (cwd) => join(cwd, '.cursor/mcp.json'),
    'Enable the server in the settings of Cursor.',
  ),
  gemini: asServers('mcpServers', (cwd) => join(cwd, '.gemini/settings.json'), 'Start gemini here.'),
  windsurf: asServers(
    'mcpServers',
    () => join(homedir(), '.codeium/windsurf/mcp_config.json'),
    'Refresh its MCP servers.',
  ),
  vscode: {
    file: (cwd) => join(cwd, '.vscode/mcp.json'),
    table: 'servers',
    entry: (server) => ({ type: 'stdio', ...server }),
    next: 'Start the server in VS Code: "MCP: List Servers".',
  },
  opencode: {
    file: (cwd) => join(cwd, 'opencode.json'),
    table: 'mcp',
    entry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      environment: env,
      enabled: true,
    }),
    next: 'Start opencode here.',
  },
  codex: {
    file: () => join(process.env.CODEX_HOME ?? join(homedir(), '.codex'), 'config.toml'),
    table: null,
    entry: plain,
    next: 'Start codex.',
  },
};

/** Adds the server to a client's configuration and keeps everything else in it. Returns the file. */
export function installServer(client: McpClient, server: McpServer, cwd: string): string {
  const file = client.file(cwd);
  const before = read(file);
  const entry = client.entry(server);
  write(file, client.table === null ? withToml(file, before, entry) : withJson(file, before, client.table, entry));
  return file;
}

/** Removes it again, and the file if nothing else is in it. Returns null if it was not there. */
export function uninstallServer(client: McpClient, cwd: string): string | null {
  const file = client.file(cwd);
  const before = read(file);
  const after =
    before === null ? null : client.table === null ? withoutToml(before) : withoutJson(file, before, client.table);
  if (before === null || after === null) return null;
  if (after === '') rmSync(file);
  else write(file, after);
  return file;
}

function withJson(file: string, before: string | null, table: string, entry: object): string {
  const config = before === null ? {} : parse(file, before);
  const servers = (config[table] ?? {}) as Record<string, unknown>;
  if (NAME in servers && !isOurs(servers[NAME])) {
    throw new SubstratError(
      'conflict',
      `${file} has a server named "${NAME}" that is not Substrat's. Rename it first.`,
    );
  }
  return serialize({ ...config, [table]: { ...servers, [NAME]: entry } }, before);
}

function withoutJson(file: string, before: string, table: string): string | null {
  const config = parse(file, before);
  const { [NAME]: ours, ...servers } = (config[table] ?? {}) as Record<string, unknown>;
  if (!isOurs(ours)) return null;
  const { [table]: _, ...others } = config;
  const hasServers = Object.keys(servers).length > 0;
  if (!hasServers && Object.keys(others).length === 0) return '';
  return serialize(hasServers ? { ...config, [table]: servers } : others, before);
}

const BEGIN = '# Written by `substrat agent mcp --install codex`: begin';
const END = '# Written by `substrat agent mcp --install codex`: end';
const BLOCK = new RegExp(`\\n*${BEGIN}[\\s\\S]*?${END}\\n?`);

/** TOML keeps its comments: our table is a marked block at the end. */
function withToml(file: string, before: string | null, entry: object): string {
  const rest = (before ?? '').replace(BLOCK, '');
  if (new RegExp(`^\\s*\\[mcp_servers\\.("?)${NAME}\\1\\]`, 'm').test(rest)) {
    throw new SubstratError(
      'conflict',
      `${file} has a server named "${NAME}" that is not Substrat's. Rename it first.`,
    );
  }
  const block = `${BEGIN}\n${stringify({ mcp_servers: { [NAME]: entry } }).trim()}\n${END}\n`;
  return rest.trim() === '' ? block : `${rest.trimEnd()}\n\n${block}`;
}

function withoutToml(before: string): string | null {
  if (!BLOCK.test(before)) return null;
  const rest = before.replace(BLOCK, '').trimEnd();
  return rest === '' ? '' : `${rest}\n`;
}

function isOurs(entry: unknown): boolean {
  return JSON.stringify(entry ?? null).includes('--agent-id');
}

function parse(file: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Reported below.
  }
  const message = `${file} is not plain JSON (it may have comments). Add the output of \`substrat agent mcp\` to it by hand.`;
  throw new SubstratError('conflict', message);
}

/** With the indentation that the file had. */
function serialize(value: object, before: string | null): string {
  const [, indent = '  '] = /\n([ \t]+)"/.exec(before ?? '') ?? [];
  return `${JSON.stringify(value, null, indent)}\n`;
}

function read(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** Replaces the file at once, and follows a link to it. */
function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const target = existsSync(file) ? realpathSync(file) : file;
  const temporary = `${target}.substrat-${process.pid}`;
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : 0o600;
  writeFileSync(temporary, text, { mode });
  renameSync(temporary, target);
}
