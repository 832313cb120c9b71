import { createWorld, type WorldTurn } from './world.ts';

/** An office: agents of three trees in one channel, each of which answers with its name and what it received. */
export async function createOffice(
  names = ['ann', 'ben', 'cleo'],
  { lost = [], ...options }: Parameters<typeof createWorld>[0] & { lost?: string[] } = {},
) {
  const world = await createWorld(options);
  const turns: WorldTurn[] = [];
  for (const name of names) {
    await world.create(name, null, lost.includes(name) ? { nodeId: 'lost' } : {});
    world.behave(name, async (turn) => {
      turns.push(turn);
      await turn.call('send_message', { channelId: 'general', text: `${name} was here` });
      return 'these words are posted nowhere';
    });
  }
  await world.channel('general', names);
  return { world, turns, order: () => turns.map(({ name }) => name) };
}
