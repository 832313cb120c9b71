import { expect, test } from 'vitest';
import { startDaemon } from '../helpers/daemon.ts';

test('a post that races with the deletion of its channel is stored before it, or refused', async () => {
  await using daemon = await startDaemon({});
  const { client } = daemon;
  const problems: unknown[] = [];
  for (let n = 0; n < 15; n += 1) {
    const id = `room-${n}`;
    await client.createChannel({ id });
    const posts = Array.from({ length: 6 }, (_, i) => client.postMessage(id, { text: `post ${i}` }));
    const [deleted, ...posted] = await Promise.allSettled([client.deleteChannel(id), ...posts]);
    const refused = posted.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    problems.push(...refused.filter((code) => code !== 'not_found'));
    if (deleted?.status === 'rejected') problems.push(deleted.reason);
    else expect(deleted?.value.messages).toBe(posts.length - refused.length);
  }
  expect(problems).toEqual([]);
});
