import type { SharedV4ProviderOptions } from '@ai-sdk/provider';
import * as z from 'zod';
import type { ConversationEntry } from '../../core/conversation.ts';

/** What a service wants back with a part, such as a signature. Opaque, and only for the model that made it. */
const meta = z.custom<SharedV4ProviderOptions>((value) => typeof value === 'object' && value !== null).optional();

const image = z.object({ mediaType: z.string(), data: z.base64() });

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), meta }),
  z.object({ type: z.literal('reasoning'), text: z.string(), meta }),
  z.object({ type: z.literal('call'), id: z.string(), name: z.string(), arguments: z.unknown(), meta }),
]);

const contents = {
  /** Attached images are stored once, by their hash, and looked up for each turn. */
  user: z.object({
    text: z.string(),
    attached: z.array(z.object({ mediaType: z.string(), hash: z.string() })).default([]),
    images: z.array(image).default([]),
  }),
  assistant: z.object({ model: z.string(), parts: z.array(part) }),
  tool: z.object({
    id: z.string(),
    name: z.string(),
    text: z.string(),
    isError: z.boolean(),
    images: z.array(image).default([]),
  }),
  summary: z.object({ text: z.string(), kept: z.array(z.string()).default([]) }),
} as const;

export type Image = z.output<typeof image>;
export type Part = z.output<typeof part>;
export type Call = Extract<Part, { type: 'call' }>;
export type ToolContent = z.output<typeof contents.tool>;

/** A message of the conversation as it is stored. */
export type Said = { readonly entry: ConversationEntry } & (
  | ({ readonly role: 'user' } & z.output<typeof contents.user>)
  | ({ readonly role: 'assistant' } & z.output<typeof contents.assistant>)
  | ({ readonly role: 'tool' } & ToolContent)
  | ({ readonly role: 'summary' } & z.output<typeof contents.summary>)
);

export function readEntry(entry: ConversationEntry): Said {
  switch (entry.role) {
    case 'user':
      return { entry, role: 'user', ...contents.user.parse(entry.content) };
    case 'assistant':
      return { entry, role: 'assistant', ...contents.assistant.parse(entry.content) };
    case 'tool':
      return { entry, role: 'tool', ...contents.tool.parse(entry.content) };
    case 'summary':
      return { entry, role: 'summary', ...contents.summary.parse(entry.content) };
  }
}

/** The calls that have no result yet, with the entry that made them. */
export function openCalls(said: readonly Said[]): { readonly call: Call; readonly entry: ConversationEntry }[] {
  const answered = new Set(said.flatMap((one) => (one.role === 'tool' ? [one.id] : [])));
  return said.flatMap((one) =>
    one.role === 'assistant'
      ? callsOf(one.parts)
          .filter(({ id }) => !answered.has(id))
          .map((call) => ({ call, entry: one.entry }))
      : [],
  );
}

export function callsOf(parts: readonly Part[]): Call[] {
  return parts.filter((one) => one.type === 'call');
}

export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('');
}
