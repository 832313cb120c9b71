import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { SubstratError, toSubstratError } from '../core/errors.ts';
import { JSON_LIMITS } from '../core/json-bounds.ts';
import { shorten } from '../core/text.ts';
import type { Personas } from '../personas/personas.ts';
import { toolsOf } from '../personas/scope.ts';
import type { ServedTool, ServedTools } from '../tools/served.ts';
import { createAnnouncements } from './announcements.ts';
import { toResult } from './bound.ts';
import { servePrompts } from './prompts.ts';

export interface KnowledgeServerOptions {
  readonly version: string;
  readonly tools: ServedTools;
  readonly personas: () => Promise<Personas>;
  readonly log: { error(details: object, message: string): void };
}

/**
 * MCP over streamable HTTP, in both eras of the protocol, without sessions: every request is independent. With
 * `?agent=NAME` in the URL, it has only the tools of that persona.
 */
export function createKnowledgeServer(options: KnowledgeServerOptions) {
  const { log } = options;
  const announcements = createAnnouncements();
  const handler = createMcpHandler(({ requestInfo }) => createServer(options, agentOf(requestInfo)), {
    onerror: (error) => log.error({ error: error.message }, 'an MCP request was refused'),
    maxRequestBodySize: JSON_LIMITS.bytes,
  });
  let following: Promise<() => void> | null = null;
  const changes = {
    prompts: () => {
      handler.notify.promptsChanged();
      announcements.announce('notifications/prompts/list_changed');
    },
    tools: () => {
      handler.notify.toolsChanged();
      announcements.announce('notifications/tools/list_changed');
    },
  };
  return {
    fetch: async (request: Request) => {
      following ??= followChanges(options, changes).catch((error: unknown) => {
        following = null;
        throw error;
      });
      await following;
      const agent = agentOf(request);
      if (agent !== null) toolsOf(await options.personas(), agent, []);
      const listens = request.method === 'GET' && request.headers.get('accept')?.includes('text/event-stream');
      return listens ? announcements.open() : handler.fetch(request);
    },
    close: async () => {
      (await following)?.();
      announcements.close();
      await handler.close();
    },
  };
}

/** The same over stdio for a single client; resolves when it disconnects. */
export async function serveOnStdio(options: KnowledgeServerOptions, agent: string | null): Promise<void> {
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  const personas = await options.personas();
  if (agent !== null) toolsOf(personas, agent, []);
  const { promise, resolve } = Promise.withResolvers<void>();
  const connected = new Set<Server>();
  const transport = new StdioServerTransport();
  const handle = serveStdio(
    async () => {
      const server = await createServer(options, agent);
      connected.add(server);
      return server;
    },
    { transport, onerror: (error) => options.log.error({ error: error.message }, 'an MCP request was refused') },
  );
  process.stdin.once('end', resolve).once('close', resolve);
  process.once('SIGINT', resolve).once('SIGTERM', resolve);
  // A server that was only asked for its capabilities is not connected.
  const tell = (send: (server: Server) => Promise<void>) => {
    for (const server of connected) void send(server).catch(() => {});
  };
  const unfollow = await followChanges(options, {
    prompts: () => tell((server) => server.sendPromptListChanged()),
    tools: () => tell((server) => server.sendToolListChanged()),
  });
  await promise;
  unfollow();
  await handle.close();
}

/** The set of a persona's tools can change at runtime. */
async function followChanges(
  { personas, tools }: KnowledgeServerOptions,
  changed: { readonly prompts: () => void; readonly tools: () => void },
): Promise<() => void> {
  const unfollow = [
    (await personas()).onChange(() => {
      changed.prompts();
      changed.tools();
    }),
    await tools.onChange(changed.tools),
  ];
  return () => {
    for (const end of unfollow) end();
  };
}

/**
 * A repeated parameter is refused: appending `?agent=` to a URL to restrict it must not be overridden by an earlier
 * one.
 */
function agentOf(request: Request | undefined): string | null {
  const said = request === undefined ? [] : new URL(request.url).searchParams.getAll('agent');
  if (said.length > 1) throw new SubstratError('bad_request', 'The address must name one agent only.');
  return said[0] ?? null;
}

async function createServer({ version, tools, personas, log }: KnowledgeServerOptions, agent: string | null) {
  const server = new Server({ name: 'substrat', version }, { capabilities: { tools: { listChanged: true } } });
  const known = await personas();
  const inScope = async () => (agent === null ? tools.list() : toolsOf(known, agent, await tools.list()));
  server.setRequestHandler('tools/list', async () => ({
    tools: (await inScope()).map(({ name, description, parameters, output, annotations }) => ({
      name,
      description,
      inputSchema: parameters as { type: 'object' },
      outputSchema: output as { type: 'object' },
      ...(annotations && { annotations: { ...annotations } }),
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = (await inScope()).find(({ name }) => name === params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${shorten(params.name)}".`);
    return call(tool, params.arguments, log);
  });
  servePrompts(server, known);
  return server;
}

/** An expected error becomes an error result. */
async function call(tool: ServedTool, args: unknown, log: KnowledgeServerOptions['log']) {
  let result: Readonly<Record<string, unknown>>;
  let isError = false;
  try {
    result = await tool.call(args);
  } catch (error) {
    isError = true;
    if (!(error instanceof SubstratError)) log.error({ error: (error as Error).stack }, 'a tool failed');
    const { code, message } = toSubstratError(error);
    result = { error: { code, message } };
  }
  return toResult({ result: { ...result }, isError, news: 0 });
}
