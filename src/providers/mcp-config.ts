import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { SERVER } from './calls.ts';

const server = z.object({
  command: z.string(),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
});
const config = z.object({ mcpServers: z.record(z.string(), server) });

/** How our MCP server is started, from the agent's `mcp.json`; null if it has none. */
export function readServer(mcpConfig: string): z.infer<typeof server> | null {
  return config.parse(JSON.parse(readFileSync(mcpConfig, 'utf8'))).mcpServers[SERVER] ?? null;
}
