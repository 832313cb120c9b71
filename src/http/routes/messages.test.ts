import { expect, test } from 'vitest';
import { startDaemon } from '../../../test/helpers/daemon.ts';
import { connectAgent } from '../../../test/helpers/mcp.ts';
import { callRest } from '../../../test/helpers/rest.ts';
import { until } from '../../../test/helpers/until.ts';
import { SubstratError } from '../../core/errors.ts';

test('waiting for a reply survives a store that is unavailable when it arrives', async () => {
  await using world = await startDaemon({ members: { me: {} } });
  const { messageId } = await world.client.sendMessage('me', { text: 'a question' });
  await using me = await connectAgent({ home: world.home, agentId: world.agent('me').id });
  await me.call('check_inbox');
  const { store } = world.daemon;
  const { read, onChange } = store;
  let [failed, waits, down] = [0, false, false];
  const failing: Pick<typeof store, 'read' | 'onChange'> = {
    read: (work) => {
      if (!down) return read(work);
      failed += 1;
      return Promise.reject(new SubstratError('store', 'The store cannot be read.'));
    },
    onChange: (listener) => {
      waits = true;
      return onChange(listener);
    },
  };
  Object.assign(store, failing);
  const answer = callRest(world.home, { path: `/api/messages/${messageId}/replies?wait=50` });
  await until('it waits', () => waits);
  down = true;
  const begun = performance.now();
  await me.call('send_message', { recipient: 'USER', text: 'the answer', in_reply_to: messageId });
  await until('a look at the store has failed', () => failed > 0);
  down = false;
  // Nothing changes any more, so it must poll.
  expect(await answer).toMatchObject({ status: 200, body: { state: 'closed', items: [{ text: 'the answer' }] } });
  expect(performance.now() - begun).toBeLessThan(25_000);
});
