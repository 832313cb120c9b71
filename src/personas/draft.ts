import * as z from 'zod';

/** An empty Lua table arrives as an object, even if a list was meant. */
const list = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    (value) => (typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? [] : value),
    z.array(item),
  );

const name = z.string().min(1);

/** What a script or a module declares about its persona. */
export const Declaration = z.looseObject({
  name: name.optional(),
  description: z.string().default(''),
  tools: list(name).default([]),
  arguments: list(
    z.object({
      name,
      description: z.string().default(''),
      required: z.boolean().default(false),
      values: list(z.string()).optional(),
    }),
  ).default([]),
});

/** What `resolve` may return. */
export const Draft = z.object({
  system: z.string(),
  tools: list(name).optional(),
  messages: list(z.object({ role: z.enum(['user', 'assistant', 'system']), content: z.string() })).default([]),
});
