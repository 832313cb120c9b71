import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How an MCP client starts `ctx` over stdio. */
export interface McpStart {
  readonly command: string;
  readonly args: readonly string[];
}

const LAUNCHER = fileURLToPath(new URL('../../bin/ctx', import.meta.url));

/** The file is named, so the client may start in any directory, and the file needs no trust. */
export function mcpStart(config: string): McpStart {
  return { command: LAUNCHER, args: ['serve', 'mcp', '--stdio', '--config', config] };
}

/** What to do in Claude Code, and what to put into the JSON of other clients. */
export function describeMcp(name: string, { command, args }: McpStart, path: string | undefined): string[] {
  const shell = [isOnPath(path) ? 'ctx' : command, ...args].map(quoted).join(' ');
  return [
    'Claude Code:',
    `  claude mcp add ${name} -- ${shell}`,
    'Claude Desktop, Cursor, Windsurf, Gemini (VS Code: "servers" instead of "mcpServers"):',
    `  ${JSON.stringify({ mcpServers: { [name]: { command, args } } })}`,
    'Codex (config.toml):',
    `  [mcp_servers.${name}]`,
    `  command = ${JSON.stringify(command)}`,
    `  args = ${JSON.stringify(args)}`,
  ];
}

/** Whether `ctx` in a shell is this program, not another one of that name. */
function isOnPath(path = ''): boolean {
  const found = path
    .split(delimiter)
    .map((directory) => join(directory, 'ctx'))
    .find((file) => existsSync(file));
  return found !== undefined && realpathSync(found) === realpathSync(LAUNCHER);
}

function quoted(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
