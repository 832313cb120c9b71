import { createSdkMcpServer, query } from '@anthropic-ai/claude-agent-sdk';
import { createClient } from 'substrat/client';
import { startDaemon } from 'substrat/daemon';

const daemon = await startDaemon();
const client = createClient({ home: daemon.home });
const agent = await client.createAgent({ name: 'guest', provider: 'external' });
const tools = await daemon.getTools(agent.id);
const server = createSdkMcpServer({ name: 'substrat', version: '1.0.0', tools });
const options = { mcpServers: { substrat: server }, allowedTools: ['mcp__substrat__*'] };
for await (const message of query({ prompt: 'Who else is here?', options })) console.log(message);
await daemon.stop();
