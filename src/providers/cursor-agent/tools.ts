import * as z from 'zod';
import type { CliProgram } from '../cli.ts';
import { countTools } from '../mcp-tools.ts';
import { serversOf } from './files.ts';

type Server = Record<string, unknown>;

const startable = z.object({
  command: z.string(),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
});

/**
 * Counts the tools of a workspace's own MCP servers. Only a turn starts them to ask, in the place where the program
 * would start them; the count is cached. A server that was not asked or did not answer counts as one tool.
 */
export function createToolCounts(): NonNullable<CliProgram['otherTools']> {
  const known = new Map<string, number>();
  const keyOf = (server: Server) => JSON.stringify(server);
  const count = (servers: readonly Server[]) =>
    servers.reduce((sum, server) => sum + (known.get(keyOf(server)) ?? 1), 0);
  const othersIn = (workspace: string) => {
    const { substrat: _, ...others } = serversOf(workspace);
    return Object.values(others);
  };

  return {
    known: (workspace) => count(othersIn(workspace)),
    ask: async (turn, confine) => {
      const servers = othersIn(turn.workspace);
      for (const server of servers) {
        const { data } = startable.safeParse(server);
        if (!data || known.has(keyOf(server))) continue;
        // Through `env`, so that it is looked up where it runs: a workspace must not decide what a sandbox exposes.
        const tools = await countTools(
          await confine({ file: 'env', args: [data.command, ...data.args], env: data.env }),
          turn,
        );
        if (tools !== null) known.set(keyOf(server), tools);
      }
      return count(servers);
    },
  };
}
