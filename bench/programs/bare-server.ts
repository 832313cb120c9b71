// The baseline: a bare MCP server on a Unix socket whose tool makes one durable insert per call, with nothing but the
// SDK. A bridge's first line is not JSON-RPC, and the SDK skips it.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import Database from 'better-sqlite3';
import * as z from 'zod';

const [path, file] = process.argv.slice(2) as [string, string];

const database = new Database(file);
database.pragma('journal_mode = wal');
database.pragma('synchronous = full');
database.exec('create table messages (id text primary key, recipient text, text text, created_at integer)');
const insert = database.prepare('insert into messages (id, recipient, text, created_at) values (?, ?, ?, ?)');

const server = createServer((socket) => {
  socket.on('error', () => {});
  serveStdio(createBareServer, { transport: new StdioServerTransport(socket, socket) });
});
server.listen(path, () => process.send?.('ready'));
process.on('disconnect', () => process.exit());

function createBareServer(): McpServer {
  const bare = new McpServer({ name: 'bare', version: '1' });
  const inputSchema = z.object({ recipient: z.string(), text: z.string() });
  bare.registerTool('send_message', { inputSchema }, ({ recipient, text }) => {
    const id = randomUUID();
    insert.run(id, recipient, text, Date.now());
    return answer({ status: 'sent', message_id: id, waiting_for_reply: true });
  });
  bare.registerTool('list_agents', {}, () => answer({ agents: [] }));
  return bare;
}

function answer(value: Record<string, unknown>) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }], structuredContent: value };
}
