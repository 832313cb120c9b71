import { once } from 'node:events';
import { Command } from 'commander';
import { UsageError } from '../../cli/context.ts';
import { parseBind } from '../../config/sections/server.ts';
import { serveKnowledge } from '../../http/serve-knowledge.ts';
import { createKnowledgeServer, type KnowledgeServerOptions, serveOnStdio } from '../../mcp/knowledge-server.ts';
import { createServedTools } from '../../tools/served.ts';
import { type CtxContext, isJson, type OpenedStore, withStore } from '../context.ts';
import { withExtensions } from '../extended.ts';
import { untilInterrupted } from '../interrupt.ts';

interface ServeFlags {
  readonly bind?: string;
  readonly token?: string;
  readonly stdio?: boolean;
  readonly agent?: string;
}

export function serveCommand(context: CtxContext): Command {
  const mcp = new Command('mcp')
    .description(
      'Serve the knowledge base and the personas over HTTP: MCP at /mcp, the tools at /tools, the personas at /agents.',
    )
    .option('--bind <address>', 'where, instead of [server] bind; port 0 picks a free one')
    .option(
      '--token <token>',
      'what clients must send as a bearer token; without it whoever can reach the address may ask',
    )
    .option('--stdio', 'speak MCP on standard input and output instead')
    .option('--agent <name>', 'with --stdio: only the tools of this persona')
    .addHelpText(
      'after',
      '\nExample:\n  ctx serve mcp --bind 127.0.0.1:7332\n  ctx serve mcp --stdio --agent code-reviewer',
    )
    .action(async (flags: ServeFlags, command: Command) => {
      if (flags.token === '') throw new UsageError('--token must not be empty.');
      if (flags.agent !== undefined && !flags.stdio) {
        throw new UsageError('--agent goes with --stdio; over HTTP, clients use /mcp?agent=NAME.');
      }
      await withStore(context, command, (opened) =>
        withExtensions(context, command, opened.knowledge, async (extensions) => {
          extensions.watch();
          const options = {
            version: context.version,
            tools: createServedTools(opened.knowledge, async () => extensions.tools),
            personas: async () => extensions.personas,
            log: {
              error: (details: object, message: string) =>
                void process.stderr.write(`ctx: ${message} ${JSON.stringify(details)}\n`),
            },
          };
          if (flags.stdio) await serveOnStdio(options, flags.agent ?? null);
          else await serveHttp(context, command, opened, options, flags);
        }),
      );
    });
  return new Command('serve').description('Serve what is indexed.').addCommand(mcp);
}

async function serveHttp(
  context: CtxContext,
  command: Command,
  { config, store }: OpenedStore,
  options: KnowledgeServerOptions,
  flags: ServeFlags,
): Promise<void> {
  const { log, tools, personas } = options;
  const bind = flags.bind === undefined ? config.server.bind : parseBind(flags.bind);
  if (bind === null) throw new UsageError(`--bind takes an address such as 127.0.0.1:7331; got "${flags.bind}".`);
  const server = createKnowledgeServer(options);
  const knowledgeDoor = { tools, personas, mcp: server.fetch, close: server.close };
  const served = await serveKnowledge({ store, log, knowledgeDoor }, { bind, token: flags.token ?? null });
  context.print(
    isJson(command) ? JSON.stringify({ url: served.url, mcp: `${served.url}/mcp` }) : `Serving ${served.url}/mcp`,
  );
  await once(untilInterrupted(), 'abort');
  await served.close();
  await server.close();
}
