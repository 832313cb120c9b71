// A TCP proxy to a Unix socket that delays everything by some milliseconds in each direction. Reports its port.
import { connect, createServer, type Socket } from 'node:net';

const [path, delayMs] = [process.argv[2] as string, Number(process.argv[3])];

function forward(from: Socket, to: Socket): void {
  from.on('data', (chunk) => void setTimeout(() => to.writable && to.write(chunk), delayMs));
  from.on('close', () => void setTimeout(() => to.destroy(), delayMs));
  from.on('error', () => {});
}

const server = createServer((client) => {
  const target = connect(path);
  client.setNoDelay(true);
  forward(client, target);
  forward(target, client);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as { port: number }).port));
process.on('disconnect', () => process.exit());
