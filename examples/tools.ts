// An agent that is run in this very process: its tools are called, and handed to whatever speaks MCP.
// node examples/tools.ts
import { createClient } from 'substrat/client';
import { startDaemon } from 'substrat/daemon';

const daemon = await startDaemon();
const client = createClient({ home: daemon.home });
const agent = await client.createAgent({ name: `guest-${Date.now()}`, provider: 'external' });
const tools = await daemon.getTools(agent.id);

const call = (name: string, args: object) => tools.find((tool) => tool.name === name)?.handler(args);
await call('store_memory', { content: 'The harbour opens at six.', tags: ['harbour'] });
const found = await call('search_memory', { query: 'when does the harbour open?' });
console.log(found?.content[0]?.text);
await daemon.stop();
