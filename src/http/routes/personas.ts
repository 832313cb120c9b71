import { z } from '@hono/zod-openapi';
import type { PersonaInfo } from '../../core/persona.ts';
import type { Personas } from '../../personas/personas.ts';
import { ownerOnly } from '../access.ts';
import { createRouter, describe, type Router } from '../router.ts';

const Argument = z.strictObject({ name: z.string(), description: z.string(), required: z.boolean() });
const Persona = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    tools: z.array(z.string()),
    source: z.enum(['toml', 'lua', 'ts']),
    arguments: z.array(Argument),
  })
  .openapi('Persona');
const role = z.enum(['user', 'assistant', 'system']);
const PersonaPrompt = z
  .strictObject({
    system: z.string(),
    tools: z.array(z.string()),
    messages: z.array(z.strictObject({ role, content: z.string() })),
  })
  .openapi('PersonaPrompt');
const Prompt = z
  .strictObject({ name: z.string(), description: z.string(), arguments: z.array(Argument) })
  .openapi('McpPrompt');
const Content = z.strictObject({ type: z.literal('text'), text: z.string() });
const given = z.record(z.string(), z.unknown()).default({});
const body = <S extends z.ZodType>(schema: S) => ({ content: { 'application/json': { schema } } });
const FAILURES = {
  404: 'There is no such agent (`not_found`).',
  408: 'Its script timed out (`timeout`).',
};

const list = describe(
  { method: 'get', path: '/agents/list', summary: 'List the personas.' },
  {
    status: 200,
    description: 'The personas, in the order of the configuration.',
    schema: z.strictObject({ agents: z.array(Persona) }),
  },
);
const resolve = describe(
  {
    method: 'post',
    path: '/agents/{name}/prompt',
    summary: 'Resolve the prompt of a persona.',
    request: {
      params: z.strictObject({ name: z.string() }),
      body: body(z.strictObject({ arguments: given })),
    },
  },
  { status: 200, description: 'The prompt.', schema: z.strictObject({ result: PersonaPrompt }) },
  FAILURES,
);
const prompts = describe(
  { method: 'get', path: '/prompts/list', summary: 'List the personas in the format of MCP `prompts/list`.' },
  { status: 200, description: 'All of them.', schema: z.strictObject({ prompts: z.array(Prompt) }) },
);
const prompt = describe(
  {
    method: 'post',
    path: '/prompts/get',
    summary: 'Resolve the prompt of a persona in the format of MCP `prompts/get`, but with the role `system`.',
    request: { body: { required: true, ...body(z.strictObject({ name: z.string(), arguments: given })) } },
  },
  {
    status: 200,
    description: 'Its messages, the system prompt first.',
    schema: z.strictObject({
      description: z.string(),
      messages: z.array(z.strictObject({ role, content: Content })),
    }),
  },
  FAILURES,
);

/** Personas and their prompts: seed 004's routes, outside `/api`. */
export function personaRoutes(open: () => Promise<Personas>): Router {
  const routes = createRouter();
  for (const path of ['/agents/*', '/prompts/*']) {
    routes.use(path, (c, next) => {
      ownerOnly(c.get('caller'));
      return next();
    });
  }
  routes.openapi(list, async (c) => c.json({ agents: (await open()).list().map(shown) }, 200));
  routes.openapi(resolve, async (c) => {
    const { arguments: args } = c.req.valid('json') ?? { arguments: {} };
    const { system, tools, messages } = await (await open()).resolve(c.req.valid('param').name, args ?? {});
    return c.json({ result: { system, tools: [...tools], messages: [...messages] } }, 200);
  });
  routes.openapi(prompts, async (c) => {
    const all = (await open()).list().map(shown);
    return c.json(
      {
        prompts: all.map(({ name, description, arguments: declared }) => ({ name, description, arguments: declared })),
      },
      200,
    );
  });
  routes.openapi(prompt, async (c) => {
    const { name, arguments: args } = c.req.valid('json');
    const personas = await open();
    const { system, messages } = await personas.resolve(name, args);
    const all = [{ role: 'system' as const, content: system }, ...messages];
    const description = personas.find(name)?.description ?? '';
    return c.json(
      {
        description,
        messages: all.map((one) => ({ role: one.role, content: { type: 'text' as const, text: one.content } })),
      },
      200,
    );
  });
  return routes;
}

function shown({ name, description, tools, source, arguments: declared }: PersonaInfo): z.output<typeof Persona> {
  return {
    name,
    description,
    tools: [...tools],
    source,
    arguments: declared.map((one) => ({ name: one.name, description: one.description, required: one.required })),
  };
}
