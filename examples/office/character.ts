// Every character of the office. What they would say if a model played them stands in substrat.toml; here they follow rules.
import { type AgentContext, runAgent } from 'substrat/scripted';

type Message = AgentContext['messages'][number];

interface Character {
  /** What somebody has to speak of for it to answer. */
  readonly cares: RegExp;
  answer(turn: AgentContext, heard: Message): Promise<void>;
}

const post = (turn: AgentContext, channelId: string, text: string) => turn.call('send_message', { channelId, text });
const react = (turn: AgentContext, messageId: string, emoji: string) =>
  turn.call('react_to_message', { messageId, emoji });

const characters: Readonly<Record<string, Character>> = {
  marlow: {
    cares: /morning|lamp|broken|storm/i,
    answer: async (turn, heard) => {
      await turn.call('update_memory', { label: 'current_state', content: `Heard: ${heard.text}` });
      await post(turn, heard.channelId, /lamp/i.test(heard.text) ? '@tilda, the lamp, please.' : 'Morning.');
    },
  },
  tilda: {
    cares: /lamp|flag|radio/i,
    answer: async (turn, heard) => {
      const { passages } = await turn.call<{ passages: unknown[] }>('search_memory', { query: 'lamp' });
      await turn.call('store_memory', { content: `The lamp: ${heard.text}`, tags: ['lamp'] });
      await post(turn, 'workshop', `@osk, a lamp is out. That makes ${passages.length + 1} in my book.`);
    },
  },
  osk: {
    cares: /lamp|broken|mend/i,
    answer: async (turn, heard) => {
      await react(turn, heard.id, '🔧');
      if (heard.channelId === 'workshop') await post(turn, 'dm-osk-pim', 'Can you get up to the lamp? Slowly.');
    },
  },
  pim: {
    cares: /lamp|@pim|soup/i,
    answer: (turn) => post(turn, 'workshop', 'On my way up!').then(() => {}),
  },
  vesna: {
    cares: /money|price|cost|pay/i,
    answer: (turn, heard) => post(turn, heard.channelId, 'It is in the books, to the penny.').then(() => {}),
  },
  juno: {
    cares: /@juno|hungry|soup|eat/i,
    answer: (turn, heard) => post(turn, heard.channelId, 'There is soup.').then(() => {}),
  },
};

await runAgent(async (turn) => {
  const character = characters[turn.name];
  const heard = turn.messages.filter((message) => message.kind !== 'context');
  const cares = heard.filter((message) => character?.cares.test(message.text));
  for (const message of cares) await character?.answer(turn, message);
  if (cares.length === 0) await turn.call('do_nothing');
  return heard.some((message) => message.kind === 'request') ? 'I have heard you.' : '';
});
