import { once } from 'node:events';
import { Command } from 'commander';
import { type Context, isJson, UsageError } from '../../command-line/context.ts';
import { harmless } from '../../command-line/terminal.ts';
import { parseBind } from '../../config/bind.ts';
import { isLoopback } from '../../config/wants.ts';
import { serveKnowledge } from '../../http/serve-knowledge.ts';
import { createKnowledgeServer, type KnowledgeServerOptions, serveOnStdio } from '../../mcp/knowledge-server.ts';
import { createAnswer } from '../../tools/answer.ts';
import { createServedTools } from '../../tools/served.ts';
import { type OpenedStore, withStore } from '../context.ts';
import { followFiles, withExtensions } from '../extended.ts';
import { untilInterrupted } from '../interrupt.ts';
import { ownSocket } from '../own-socket.ts';
import { readServeToken, type TokenFlags } from '../serve-token.ts';

interface ServeFlags extends TokenFlags {
  readonly bind?: string;
  readonly stdio?: boolean;
  readonly agent?: string;
}

export function serveCommand(context: Context): Command {
  const mcp = new Command('mcp')
    .description(
      'Serve the knowledge base and the personas over HTTP: MCP at /mcp, the tools at /tools, the personas at /agents.',
    )
    .option('--bind <address>', 'address to listen on, instead of [server] bind; port 0 picks a free port')
    .option(
      '--token-file <file>',
      'file with the bearer token that clients must send, or set $CTX_TOKEN; without a token, any client that can reach the address has access',
    )
    .option('--token <token>', 'the bearer token itself; other users of this machine can see it in the process list')
    .option('--stdio', 'serve MCP on stdin and stdout instead')
    .option('--agent <name>', 'with --stdio: only the tools of this persona')
    .addHelpText(
      'after',
      '\nExample:\n  ctx serve mcp --bind 127.0.0.1:7332 --token-file ~/.ctx-token\n  ctx serve mcp --stdio --agent code-reviewer',
    )
    .action(async (flags: ServeFlags, command: Command) => {
      const token = readServeToken(flags, process.env, warn);
      if (flags.agent !== undefined && !flags.stdio) {
        throw new UsageError('--agent requires --stdio. Over HTTP, clients use /mcp?agent=NAME.');
      }
      await withStore(context, command, (opened) =>
        withExtensions(opened.reader, opened.knowledge, async (extensions) => {
          const followed = followFiles(opened.reader, extensions);
          const options = {
            version: context.version,
            tools: createServedTools(opened.knowledge, async () => extensions.tools),
            personas: async () => extensions.personas,
            log: {
              error: (details: object, message: string) =>
                void process.stderr.write(`ctx: ${message} ${harmless(JSON.stringify(details))}\n`),
            },
          };
          try {
            if (flags.stdio) await serveOnStdio(options, flags.agent ?? null);
            else await serveHttp(context, command, opened, options, { bind: flags.bind, token });
          } finally {
            followed.close();
          }
        }),
      );
    });
  return new Command('serve').description('Serve the knowledge base.').addCommand(mcp);
}

function warn(message: string): void {
  process.stderr.write(`warning: ${harmless(message)}\n`);
}

async function serveHttp(
  context: Context,
  command: Command,
  { config, home, store, knowledge }: OpenedStore,
  options: KnowledgeServerOptions,
  flags: { readonly bind: string | undefined; readonly token: string | null },
): Promise<void> {
  const { log, tools, personas } = options;
  const bind = flags.bind === undefined ? config.server.bind : parseBind(flags.bind);
  if (bind === null) throw new UsageError(`--bind takes an address such as 127.0.0.1:7331; got "${flags.bind}".`);
  const server = createKnowledgeServer(options);
  const answer = createAnswer({ config, home, version: context.version, knowledge });
  const knowledgeDoor = { tools, personas, answer, mcp: server.fetch, close: server.close };
  const at = { bind, token: flags.token, origins: config.server.origins, socket: ownSocket(home) };
  // A signal that comes before everything is open must also remove the socket.
  const interrupted = untilInterrupted();
  const served = await serveKnowledge({ store, log, knowledgeDoor, version: context.version }, at);
  context.print(
    isJson(command) ? JSON.stringify({ url: served.url, mcp: `${served.url}/mcp` }) : `Serving ${served.url}/mcp`,
  );
  if (flags.token === null) {
    const who = isLoopback(bind.host) ? 'every user of this machine' : 'everyone who can reach this machine';
    warn(`no token is set: ${who} can search the indexed documents. Set one with --token-file FILE or CTX_TOKEN.`);
  }
  if (!interrupted.aborted) await once(interrupted, 'abort');
  await served.close();
  await server.close();
}
