// Clients that call `send_message`, in their own process: the parent says how often, and gets the durations.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { LoadAnswer, LoadOptions, LoadOrder, Seat } from '../load.ts';

/** Calls the tool and returns its result. */
type Caller = (args: object) => Promise<{ isError?: boolean }>;

const TOOL = 'send_message';
const { seats, recipient, plain } = JSON.parse(process.argv[2] as string) as LoadOptions;
const callers = await Promise.all(seats.map(join));
process.on('message', (order: LoadOrder) => void run(order).then((answer) => process.send?.(answer)));
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function join({ path, agentId }: Seat): Promise<Caller> {
  const socket = connect(path);
  await once(socket, 'connect');
  if (agentId) socket.write(`{"substrat":{"agentId":"${agentId}"}}\n`);
  return plain ? joinPlainly(socket) : joinBySdk(socket);
}

async function joinBySdk(socket: Socket): Promise<Caller> {
  const client = new Client({ name: 'load', version: '1' });
  // The transport is the same at both ends: newline-delimited JSON on two streams.
  await client.connect(new StdioServerTransport(socket, socket));
  return (args) => client.callTool({ name: TOOL, arguments: { ...args } }) as ReturnType<Caller>;
}

/** The same messages without the SDK, with which a client would use as much CPU as the server it measures. */
async function joinPlainly(socket: Socket): Promise<Caller> {
  const lines = createInterface(socket);
  let id = 0;
  const ask = async (method: string, params: object) => {
    id += 1;
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const [line] = await once(lines, 'line');
    return JSON.parse(line).result;
  };
  const clientInfo = { name: 'load', version: '1' };
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  socket.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return (args) => ask('tools/call', { name: TOOL, arguments: args });
}

async function run({ calls }: LoadOrder): Promise<LoadAnswer> {
  const took: number[] = [];
  const busy = process.cpuUsage();
  const begin = performance.now();
  await Promise.all(callers.map((call) => callInARow(call, calls, took)));
  const ms = performance.now() - begin;
  const { user, system } = process.cpuUsage(busy);
  return { ms, took, cpu: (user + system) / 1000 / ms };
}

async function callInARow(call: Caller, calls: number, took: number[]): Promise<void> {
  for (let n = 0; n < calls; n += 1) {
    const begin = performance.now();
    const result = await call({ recipient, text: `Message ${n}.` });
    took.push(performance.now() - begin);
    if (!result || result.isError) throw new Error(`the call was answered ${JSON.stringify(result)}`);
  }
}
