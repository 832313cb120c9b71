import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

/** A Unix socket like the daemon's for each run; `accept` gets the first line of a connection and what follows. */
export async function listen(accept: (socket: Socket, hello: string) => unknown) {
  const directory = await mkdtemp(join(tmpdir(), 'agent-'));
  const path = join(directory, 'agent.sock');
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('readable', () => {
      const first: Buffer | null = socket.read();
      if (!first) return;
      const end = first.indexOf('\n');
      socket.unshift(first.subarray(end + 1));
      accept(socket, first.subarray(0, end).toString());
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    directory,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true });
    },
  };
}

/** Serves MCP on the connection: `echo` returns its text, `refuse` is an error, `die` closes the connection. */
export async function serveTools(socket: Socket): Promise<void> {
  const server = new McpServer({ name: 'test', version: '1' });
  const inputSchema = z.object({ text: z.string() });
  const answer = (value: Record<string, unknown>, isError = false) => ({
    content: [{ type: 'text' as const, text: JSON.stringify(value) }],
    structuredContent: value,
    isError,
  });
  server.registerTool('echo', { inputSchema }, ({ text }) => answer({ text }));
  server.registerTool('refuse', {}, () => answer({ error: { code: 'forbidden', message: 'Not you.' } }, true));
  server.registerTool('die', {}, () => {
    socket.destroy();
    return answer({});
  });
  socket.on('end', () => socket.end());
  await server.connect(new StdioServerTransport(socket, socket));
}
