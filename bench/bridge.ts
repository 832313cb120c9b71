import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, median, type Row } from './measure.ts';
import { startNode } from './node.ts';

const TIMES = 5;

interface McpServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** `substrat-mcp-server` as an agent's mcp.json starts it, from spawn to the response to `tools/list`. */
export default async function bridge({ scratch, defer }: Bench): Promise<Row[]> {
  const { client, stop } = await startDaemon(join(scratch, 'home'));
  defer(() => stop());
  await client.createAgent({ name: 'me', provider: 'external' });
  const { path } = await client.getMcpConfig('me');
  const server: McpServer = JSON.parse(readFileSync(path, 'utf8')).mcpServers.substrat;
  await listTools(server);
  const measured = await alternate(
    () => middleOf(startNode),
    () => middleOf(() => listTools(server)),
  );
  return [
    {
      name: 'substrat-mcp-server, to tools/list',
      unit: 'ms',
      ...compared(measured),
      goalOf: 'ratio',
      atMost: 2,
    },
  ];
}

async function middleOf(action: () => Promise<number>): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < TIMES; n += 1) took.push(await action());
  return median(took);
}

/** Like a client: sends each message after the previous response. */
async function listTools({ command, args, env }: McpServer): Promise<number> {
  const begin = performance.now();
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout);
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'bench', version: '1' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
  await once(lines, 'line');
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/list', params: {} });
  const [answer] = await once(lines, 'line');
  const took = performance.now() - begin;
  if (!JSON.parse(answer).result?.tools) throw new Error(`no tools but ${answer}`);
  const exited = once(child, 'exit');
  child.stdin.end();
  await exited;
  return took;
}
