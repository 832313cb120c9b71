import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from '../../test/helpers/daemon.ts';
import { connectSocket } from '../../test/helpers/mcp.ts';

/** Much shorter than any of these connections would wait. */
const SOON_MS = 10_000;

test('close() ends every connection, whatever it waits for', async () => {
  await using world = await startDaemon({ members: { me: {} } });
  const { messageId } = await world.client.sendMessage('me', { text: 'a question' });
  const waiting = [
    `GET /api/messages/${messageId}/replies?wait=60 HTTP/1.1\r\nhost: x\r\n\r\n`,
    'GET /api/events HTTP/1.1\r\nhost: x\r\n\r\n',
    'POST /api/agents HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{',
    'GET /hea',
    '',
  ];
  const connections = await Promise.all(
    waiting.map(async (bytes) => {
      const connection = await connectSocket(join(world.home, 'daemon.sock'));
      await connection.send(bytes);
      return connection;
    }),
  );
  // Earlier connections have been accepted by now.
  await world.client.getStatus();
  const begun = performance.now();
  await world.stop();
  await Promise.all(connections.map(({ closed }) => closed));
  expect(performance.now() - begun).toBeLessThan(SOON_MS);
});
