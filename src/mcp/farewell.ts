import type { Socket } from 'node:net';

const LINGER_MS = 2000;

/**
 * Sends a last line and closes when the other side does, or after a timeout. Closing immediately would make the other
 * side's next write fail, so that it would never read the reason.
 */
export function sayFarewell(socket: Socket, message: object): void {
  socket.end(`${JSON.stringify(message)}\n`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
}
