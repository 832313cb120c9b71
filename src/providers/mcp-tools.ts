import { PassThrough } from 'node:stream';
import * as z from 'zod';
import type { Command } from '../core/command.ts';
import { JSON_LIMITS, parseBounded } from '../core/json-bounds.ts';
import { runProcess } from './process.ts';
import type { Turn } from './provider.ts';
import { maxLineBytes } from './verdict.ts';

const PATIENCE_MS = 15_000;
const INITIALIZE = 0;
/** Servers with a hundred tools describe them with many thousand keys. */
const TOOL_LIST = { ...JSON_LIMITS, entries: 100_000 };

const answer = z.object({
  id: z.number(),
  result: z.looseObject({ tools: z.array(z.unknown()).default([]), nextCursor: z.string().optional() }),
});

/** Starts an MCP server over stdio and counts its tools; null if it does not answer. */
export async function countTools(command: Command, { signal, launch }: Turn): Promise<number | null> {
  const input = new PassThrough();
  const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'substrat', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  send({ id: INITIALIZE, method: 'initialize', params });
  const limits = { timeoutMs: PATIENCE_MS, maxLineBytes, maxOutputBytes: maxLineBytes };
  let count = 0;
  for await (const output of runProcess({ command, input, signal, onSpawn: launch.onSpawn, ...limits })) {
    const said = output.type === 'line' ? parse(output.text) : null;
    if (!said) continue;
    count += said.result.tools.length;
    const { nextCursor } = said.result;
    if (said.id === INITIALIZE) send({ method: 'notifications/initialized' });
    else if (nextCursor === undefined) return count;
    send({ id: said.id + 1, method: 'tools/list', params: nextCursor === undefined ? {} : { cursor: nextCursor } });
  }
  return null;
}

function parse(line: string): z.infer<typeof answer> | null {
  try {
    return answer.safeParse(parseBounded(line, TOOL_LIST)).data ?? null;
  } catch {
    return null;
  }
}
