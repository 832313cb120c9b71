import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Limits the number of connections. A new one replaces the oldest idle one, so that thousands of idle connections
 * cannot lock others out; if all are busy, the new one is refused.
 */
export function boundConnections(server: Server, max: number): void {
  const working = new Map<Socket, number>();
  server.on('connection', (socket) => {
    if (working.size >= max) {
      const idle = [...working].find(([, requests]) => requests === 0)?.[0];
      if (!idle) return void socket.destroy();
      idle.destroy();
      working.delete(idle);
    }
    working.set(socket, 0);
    socket.on('close', () => working.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const count = (by: number): void => {
      const requests = working.get(socket);
      if (requests !== undefined) working.set(socket, requests + by);
    };
    count(1);
    response.on('close', () => count(-1));
  });
}
