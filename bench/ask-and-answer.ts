import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '../src/client/client.ts';
import type { ScriptedTurn } from '../src/core/scripted-turn.ts';
import { startDaemon } from './daemon.ts';
import { startProgram } from './load.ts';
import { alternate, type Bench, compared, median, type Row } from './measure.ts';

/** Asks its child and replies with the answer, or answers. */
export const PROGRAM = fileURLToPath(new URL('programs/agent.ts', import.meta.url));
const BRIDGE = fileURLToPath(new URL('../src/mcp/bridge.cjs', import.meta.url));
const QUESTION = 'How long is this text?';
const TIMES = 3;

/**
 * A person asks the asker, it asks the answerer, gets the answer and replies: three turns. The baseline is their
 * three programs, started one after another with the same input, each with a bridge and its call to a bare MCP
 * server.
 */
export default async function askAndAnswer({ scratch, defer }: Bench): Promise<Row[]> {
  const path = join(scratch, 'bare.sock');
  const server = await startProgram('bare-server.ts', [path, join(scratch, 'bare.db')]);
  defer(() => server.kill());
  const turns = bareTurns(scratch, path);
  const { client, stop } = await startDaemon(join(scratch, 'home'));
  defer(() => stop());
  await client.createAgent({ name: 'asker', program: PROGRAM });
  await client.createAgent({ name: 'answerer', program: PROGRAM, parent: 'asker' });

  await runBare(turns);
  await ask(client);
  const measured = await alternate(
    () => middleOf(() => runBare(turns)),
    () => middleOf(() => ask(client)),
  );
  return [
    {
      name: 'ask and answer, three turns',
      unit: 'ms',
      ...compared(measured),
      goalOf: 'difference',
      atMost: 15,
    },
  ];
}

export async function middleOf(action: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const begin = performance.now();
    await action();
    took.push(performance.now() - begin);
  }
  return median(took);
}

/** From the person's post to the reply. */
export async function ask(client: Client, asker = 'asker'): Promise<void> {
  const { messageId } = await client.sendMessage(asker, { text: QUESTION });
  const reply = await client.awaitReply(messageId, 60);
  if (reply?.kind !== 'reply') throw new Error(`no reply but ${JSON.stringify(reply)}`);
}

async function runBare(turns: readonly ScriptedTurn[]): Promise<void> {
  for (const turn of turns) {
    // The daemon's agents have a compile cache, so these have one too: the benchmark measures the daemon's overhead,
    // not the cache's savings.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(dirname(turn.mcpConfig), 'cache') };
    const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdout.resume();
    child.stdin.end(`${JSON.stringify(turn)}\n`);
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`a bare turn ended with code ${code}`);
  }
}

function bareTurns(scratch: string, socket: string): ScriptedTurn[] {
  const agentId = '00000000-0000-4000-8000-000000000000';
  const mcpConfig = join(scratch, 'mcp.json');
  const substrat = {
    command: process.execPath,
    args: [BRIDGE, '--agent-id', agentId],
    env: { SUBSTRAT_SOCKET: socket },
  };
  writeFileSync(mcpConfig, JSON.stringify({ mcpServers: { substrat } }));
  const turn = (name: string, kind: 'request' | 'reply'): ScriptedTurn => ({
    runId: agentId,
    agentId,
    name,
    instructions: '',
    prompt: QUESTION,
    session: null,
    messages: [{ id: agentId, from: 'USER', channelId: 'dm', text: QUESTION, kind }],
    journal: [],
    mcpConfig,
  });
  return [turn('asker', 'request'), turn('answerer', 'request'), turn('asker', 'reply')];
}
