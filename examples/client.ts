// Makes an agent that is a program, asks it something and prints its answer: node examples/client.ts HOME PROGRAM
import { createClient } from 'substrat/client';

const [home, program] = process.argv.slice(2);
if (!home || !program) throw new Error('Usage: node examples/client.ts HOME PROGRAM');

const client = createClient({ home });
const agent = await client.createAgent({ name: 'example', program });
const { messageId } = await client.sendMessage(agent.id, { text: 'How many words is this?' });
const reply = await client.awaitReply(messageId, 30);
console.log(reply?.text ?? 'no answer yet');
await client.terminateAgent(agent.id);
