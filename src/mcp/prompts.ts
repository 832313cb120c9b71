import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { SubstratError } from '../core/errors.ts';
import type { PersonaPrompt } from '../core/persona.ts';
import type { Personas } from '../personas/personas.ts';
import { unknownPersona } from '../personas/unknown.ts';

const MOST_COMPLETIONS = 100;

/** Serves the personas as prompts of an MCP server. Call it before connecting the server. */
export function servePrompts(server: Server, personas: Personas): void {
  server.registerCapabilities({ prompts: { listChanged: true }, completions: {} });
  server.setRequestHandler('prompts/list', () => ({
    prompts: personas.list().map(({ name, description, arguments: declared }) => ({
      name,
      description,
      arguments: declared.map((argument) => ({
        name: argument.name,
        description: argument.description,
        required: argument.required,
      })),
    })),
  }));
  server.setRequestHandler('prompts/get', async ({ params }) => {
    try {
      const prompt = await personas.resolve(params.name, params.arguments ?? {});
      return { description: personas.find(params.name)?.description, messages: toMessages(prompt) };
    } catch (error) {
      throw toProtocolError(error);
    }
  });
  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) => {
    const found = ref.type === 'ref/prompt' ? personas.find(ref.name) : null;
    if (ref.type === 'ref/prompt' && found === null) throw toProtocolError(unknownPersona(ref.name, personas.list()));
    const typed = argument.value.toLowerCase();
    const known = found?.arguments.find(({ name }) => name === argument.name)?.values ?? [];
    const values = known.filter((value) => value.toLowerCase().startsWith(typed));
    const shown = values.slice(0, MOST_COMPLETIONS);
    return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } };
  });
}

/** MCP has no system role: system texts become user messages, the system prompt first. */
function toMessages({ system, messages }: PersonaPrompt) {
  return [{ role: 'system' as const, content: system }, ...messages].map(({ role, content }) => ({
    role: role === 'system' ? ('user' as const) : role,
    content: { type: 'text' as const, text: content },
  }));
}

function toProtocolError(error: unknown): unknown {
  if (!(error instanceof SubstratError)) return error;
  const { code, message } = error;
  const isTheirs = code === 'bad_request' || code === 'not_found';
  return new ProtocolError(isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message, {
    code,
  });
}
