import type { Socket } from 'node:net';

const LINGER_MS = 2000;

/**
 * Says a last line and hangs up when the other side has, or after a while. Closing at once would make the other side's
 * next write fail, and it would never read why.
 */
export function sayFarewell(socket: Socket, message: object): void {
  socket.end(`${JSON.stringify(message)}\n`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
}
