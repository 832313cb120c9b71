// Many readers of the event stream that only check the numbers: every event once, in order.
import { connect } from 'node:net';

const [socketPath, count, wanted] = process.argv.slice(2) as [string, string, string];
const READERS = Number(count);
const EVENTS = Number(wanted);

let done = 0;
let frames = 0;
let begun = 0;
const wrong = new Set<number>();

for (let n = 0; n < READERS; n += 1) {
  await new Promise<void>((resolve) => {
    let last = 0;
    let seen = 0;
    let rest = '';
    const socket = connect(socketPath);
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith(': ')) resolve();
        if (!line.startsWith('id: ')) continue;
        const seq = Number(line.slice(4));
        if (last !== 0 && seq !== last + 1) wrong.add(n);
        last = seq;
        seen += 1;
        frames += 1;
        begun ||= performance.now();
        if (seen === EVENTS) finish();
        if (seen > EVENTS) wrong.add(n);
      }
    });
    socket.write('GET /api/events HTTP/1.1\r\nhost: substrat\r\n\r\n');
  });
}
process.send?.('ready');
process.on('disconnect', () => process.exit(0));

function finish(): void {
  done += 1;
  if (done < READERS) return;
  process.send?.({ seconds: (performance.now() - begun) / 1000, frames, wrong: wrong.size });
}
