// Many readers of the event stream with minimal work each, so that they are not what is measured.
import { connect } from 'node:net';

const [socketPath, count] = process.argv.slice(2) as [string, string];
const READERS = Number(count);
const buffer = Buffer.alloc(65_536);
const came: number[] = [];

const take = (bytes: number): void => {
  came.push(performance.now());
  if (came.length < READERS) return;
  const at = /"at":"([^"]+)"/.exec(buffer.toString('utf8', 0, bytes))?.[1] ?? '';
  const committed = Date.parse(at) - performance.timeOrigin;
  process.send?.(came.splice(0).map((moment) => moment - committed));
};

for (let n = 0; n < READERS; n += 1) {
  await new Promise<void>((resolve) => {
    let listen = (bytes: number): void => {
      if (!buffer.toString('utf8', 0, bytes).includes('\n: ')) return;
      listen = take;
      resolve();
    };
    const callback = (bytes: number): boolean => {
      listen(bytes);
      return true;
    };
    connect({ path: socketPath, onread: { buffer, callback } }).write(
      'GET /api/events HTTP/1.1\r\nhost: substrat\r\n\r\n',
    );
  });
}
process.send?.('ready');
process.on('disconnect', () => process.exit(0));
