import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { shorten } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { ServedTool, ServedTools } from '../tools/served.ts';

/** A prompt that is offered to every client: a persona. */
export interface ServedPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  resolve(args: Readonly<Record<string, string>>): Promise<readonly ServedPromptMessage[]>;
}

export interface ServedPromptMessage {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

export interface KnowledgeServerOptions {
  readonly version: string;
  readonly tools: ServedTools;
  /** Asked each time. */
  readonly prompts: () => Promise<readonly ServedPrompt[]>;
  readonly log: { error(details: object, message: string): void };
}

/** MCP over streamable HTTP, in both eras of the protocol, without sessions: every request stands for itself. */
export function createKnowledgeServer(options: KnowledgeServerOptions) {
  const handler = createMcpHandler(() => createServer(options), {
    onerror: (error) => options.log.error({ error: error.message }, 'an MCP request was refused'),
  });
  return { fetch: (request: Request) => handler.fetch(request), close: () => handler.close() };
}

function createServer({ version, tools, prompts, log }: KnowledgeServerOptions): Server {
  const server = new Server({ name: 'substrat', version }, { capabilities: { tools: {}, prompts: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: tools.list().map(({ name, description, parameters }) => ({
      name,
      description,
      inputSchema: parameters as { type: 'object' },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.find(params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${shorten(params.name)}".`);
    return call(tool, params.arguments, log);
  });
  server.setRequestHandler('prompts/list', async () => ({
    prompts: (await prompts()).map(({ name, description, arguments: args }) => ({
      name,
      description,
      arguments: [...args],
    })),
  }));
  server.setRequestHandler('prompts/get', async ({ params }) => {
    const prompt = (await prompts()).find(({ name }) => name === params.name);
    if (!prompt)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt "${shorten(params.name)}".`);
    const missing = prompt.arguments.filter(({ name, required }) => required && params.arguments?.[name] === undefined);
    if (missing.length > 0) {
      const names = missing.map(({ name }) => name).join(', ');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Missing arguments: ${names}.`);
    }
    const messages = await prompt.resolve(params.arguments ?? {});
    return {
      description: prompt.description,
      messages: messages.map(({ role, text }) => ({ role, content: { type: 'text' as const, text } })),
    };
  });
  return server;
}

/** An expected error is a result that says so. */
async function call(tool: ServedTool, args: unknown, log: KnowledgeServerOptions['log']) {
  let result: Readonly<Record<string, unknown>>;
  let isError = false;
  try {
    result = await tool.call(args);
  } catch (error) {
    isError = true;
    if (!(error instanceof SubstratError)) log.error({ error: (error as Error).stack }, 'a tool failed');
    const { code, message } =
      error instanceof SubstratError
        ? error
        : new SubstratError('internal', 'Something went wrong inside Substrat; its log has the details.');
    result = { error: { code, message } };
  }
  const content = [{ type: 'text' as const, text: JSON.stringify(result) }];
  return { content, structuredContent: { ...result }, ...(isError && { isError }) };
}
