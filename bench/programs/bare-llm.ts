// The loop of a conversation with the same client library, without Substrat: one row per model call.
import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import Database from 'better-sqlite3';

const [url = '', file = '', conversations = '1'] = process.argv.slice(2);
const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'k' })('m');
const database = new Database(file);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec(
  'create table if not exists calls (id integer primary key, conversation integer, answer text, tokens integer)',
);
const insert = database.prepare('insert into calls (conversation, answer, tokens) values (?, ?, ?)');
const tools = [
  {
    type: 'function' as const,
    name: 'list_agents',
    description: 'Lists agents.',
    inputSchema: { type: 'object' as const },
  },
];

process.on('message', async () => {
  await Promise.all(Array.from({ length: Number(conversations) }, (_, n) => converse(n)));
  process.send?.('done');
});
process.once('disconnect', () => process.exit());
process.send?.('ready');

async function converse(conversation: number): Promise<void> {
  const prompt: LanguageModelV4Prompt = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
  ];
  for (;;) {
    const { stream } = await model.doStream({ prompt, tools, toolChoice: { type: 'auto' }, maxOutputTokens: 8_192 });
    let text = '';
    let tokens = 0;
    const calls: { toolCallId: string; toolName: string; input: string }[] = [];
    for await (const part of stream) {
      if (part.type === 'text-delta') text += part.delta;
      else if (part.type === 'tool-call') calls.push(part);
      else if (part.type === 'finish') tokens = part.usage.outputTokens.total ?? 0;
      else if (part.type === 'error') throw part.error;
    }
    insert.run(conversation, text, tokens);
    if (calls.length === 0) return;
    const made = calls.map(({ toolCallId, toolName, input }) => ({
      type: 'tool-call' as const,
      toolCallId,
      toolName,
      input: JSON.parse(input || '{}') as unknown,
    }));
    prompt.push({ role: 'assistant', content: [{ type: 'text', text }, ...made] });
    const output = { type: 'text' as const, value: '{"agents":[]}' };
    prompt.push({
      role: 'tool',
      content: made.map(({ toolCallId, toolName }) => ({ type: 'tool-result' as const, toolCallId, toolName, output })),
    });
  }
}
