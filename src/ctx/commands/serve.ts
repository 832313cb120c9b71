import { once } from 'node:events';
import { Command } from 'commander';
import { UsageError } from '../../cli/context.ts';
import { parseBind } from '../../config/sections/server.ts';
import { serveKnowledge } from '../../http/serve-knowledge.ts';
import { createKnowledgeServer } from '../../mcp/knowledge-server.ts';
import { createServedTools } from '../../tools/served.ts';
import { type CtxContext, isJson, withStore } from '../context.ts';

interface ServeFlags {
  readonly bind?: string;
  readonly token?: string;
}

export function serveCommand(context: CtxContext): Command {
  const mcp = new Command('mcp')
    .description('Serve the knowledge base over HTTP: MCP at /mcp, and the tools at /tools.')
    .option('--bind <address>', 'where, instead of [server] bind; port 0 picks a free one')
    .option(
      '--token <token>',
      'what clients must send as a bearer token; without it whoever can reach the address may ask',
    )
    .addHelpText('after', '\nExample:\n  ctx serve mcp --bind 127.0.0.1:7332')
    .action(async (flags: ServeFlags, command: Command) => {
      if (flags.token === '') throw new UsageError('--token must not be empty.');
      await withStore(context, command, async ({ config, store, knowledge }) => {
        const bind = flags.bind === undefined ? config.server.bind : parseBind(flags.bind);
        if (bind === null) throw new UsageError(`--bind takes an address such as 127.0.0.1:7331; got "${flags.bind}".`);
        const log = {
          error: (details: object, message: string) =>
            void process.stderr.write(`ctx: ${message} ${JSON.stringify(details)}\n`),
        };
        const tools = createServedTools(knowledge);
        const server = createKnowledgeServer({ version: context.version, tools, prompts: async () => [], log });
        const knowledgeDoor = { tools, mcp: server.fetch, close: server.close };
        const served = await serveKnowledge({ store, log, knowledgeDoor }, { bind, token: flags.token ?? null });
        context.print(
          isJson(command) ? JSON.stringify({ url: served.url, mcp: `${served.url}/mcp` }) : `Serving ${served.url}/mcp`,
        );
        await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
        await served.close();
        await server.close();
      });
    });
  return new Command('serve').description('Serve what is indexed.').addCommand(mcp);
}
