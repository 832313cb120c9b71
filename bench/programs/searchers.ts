// Four clients that search a daemon's documents without a pause, and one that polls usage. Prints how often on SIGTERM.
import { request } from 'node:http';
import { join } from 'node:path';

const [home = '', clients = '4', usage = '1'] = process.argv.slice(2);
let searches = 0;
let running = true;
process.on('SIGTERM', () => {
  running = false;
  console.log(searches);
  process.exit();
});

function ask(method: string, path: string, body?: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const asked = request({ socketPath: join(home, 'daemon.sock'), method, path, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${path}: ${answer.statusCode}`));
      answer.resume().on('end', resolve);
    });
    asked.on('error', reject).end(body && JSON.stringify(body));
  });
}

for (let client = 0; client < Number(clients); client += 1) {
  void (async () => {
    while (running) {
      // A frequent word, one that is less so, and a rare one.
      const query = [300, 900, 5000].map((most) => `word${Math.floor(most * Math.random())}`).join(' ');
      await ask('POST', '/tools/search', { query });
      searches += 1;
    }
  })();
}
for (let client = 0; client < Number(usage); client += 1) {
  void (async () => {
    for (const by of forever(['agent', 'tree', 'day'])) await ask('GET', `/api/usage?by=${by}`);
  })();
}

function* forever(list: readonly string[]): Generator<string> {
  for (;;) yield* list;
}
