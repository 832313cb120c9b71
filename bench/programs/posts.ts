// Clients that post messages over REST, each to an agent of its own, in their own process: the parent says for how long.
import { Agent, request } from 'node:http';
import type { PostsAnswer, PostsOptions, PostsOrder } from '../posts.ts';

const { seats } = JSON.parse(process.argv[2] as string) as PostsOptions;
const agent = new Agent({ keepAlive: true });
process.on('message', (order: PostsOrder) => void run(order).then((answer) => process.send?.(answer)));
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function run({ forMs, clients }: PostsOrder): Promise<PostsAnswer> {
  const took: number[] = [];
  const begin = performance.now();
  await Promise.all(
    seats.slice(0, clients).map(async (seat) => {
      while (performance.now() - begin < forMs) {
        const sent = performance.now();
        await post(seat);
        took.push(performance.now() - sent);
      }
    }),
  );
  return { ms: performance.now() - begin, took };
}

function post({ socketPath, path }: PostsOptions['seats'][number]): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const outgoing = request({ agent, socketPath, path, method: 'POST', headers });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      if (response.statusCode !== 201) reject(new Error(`${path} answered ${response.statusCode}`));
      response.resume().on('end', resolve);
    });
    outgoing.end('{"text":"hello"}');
  });
}
