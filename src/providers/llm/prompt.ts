import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { type Image, type Part, type Said, type ToolContent, textOf } from './content.ts';
import type { ChosenModel } from './endpoints.ts';
import { CACHED } from './models.ts';

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;
type ToolPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number];

/** The conversation as the model sees it, with marks for its cache after the instructions and at the end. */
export function buildPrompt(
  said: readonly Said[],
  { instructions, chosen, images }: { instructions: string; chosen: ChosenModel; images: boolean },
): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Message[] = [];
  if (instructions !== '') prompt.push({ role: 'system', content: instructions, providerOptions: CACHED });
  const add = (message: LanguageModelV4Message): void => {
    const last = prompt.at(-1);
    // Some services refuse two messages of one role in a row.
    if (last?.role === 'user' && message.role === 'user') last.content.push(...message.content);
    else if (last?.role === 'tool' && message.role === 'tool') last.content.push(...message.content);
    else prompt.push(message);
  };
  /** Chat Completions has no images in results: they follow as the user's. */
  let late: UserPart[] = [];
  for (const one of said) {
    if (late.length > 0 && one.role !== 'tool') {
      add({ role: 'user', content: late });
      late = [];
    }
    const shown = images && 'images' in one ? one.images : [];
    if (one.role === 'user') add({ role: 'user', content: userParts(one.text, shown) });
    else if (one.role === 'summary') add({ role: 'user', content: userParts(renderSummary(one), []) });
    else if (one.role === 'tool') {
      const apart = chosen.dialect === 'chat';
      add({ role: 'tool', content: [toolPart(one, apart ? [] : shown)] });
      if (apart && shown.length > 0) late.push(...userParts(`The image that ${one.name} returned:`, shown));
    } else {
      const content = assistantParts(one.parts, one.model === chosen.name);
      if (content.length > 0) add({ role: 'assistant', content });
    }
  }
  if (late.length > 0) add({ role: 'user', content: late });
  const last = prompt.at(-1);
  if (last) last.providerOptions = CACHED;
  return prompt;
}

function renderSummary({ text, kept }: { text: string; kept: readonly string[] }): string {
  const parts = ['Notice from Substrat:', 'The conversation so far was too long. It was summarized:', text];
  if (kept.length > 0) parts.push('These messages are still being worked on and follow word for word:', ...kept);
  return parts.join('\n\n');
}

function userParts(text: string, images: readonly Image[]): UserPart[] {
  const files = images.map((image) => ({ type: 'file' as const, mediaType: image.mediaType, data: fileData(image) }));
  return [{ type: 'text', text: text || '(empty)' }, ...files];
}

function toolPart({ id, name, text, isError }: ToolContent, images: readonly Image[]): ToolPart {
  const output: LanguageModelV4ToolResultOutput =
    images.length > 0
      ? {
          type: 'content',
          value: [
            { type: 'text', text },
            ...images.map((image) => ({ type: 'file' as const, mediaType: image.mediaType, data: fileData(image) })),
          ],
        }
      : { type: isError ? 'error-text' : 'text', value: text || '(empty)' };
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

function fileData({ data }: Image) {
  return { type: 'data' as const, data };
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/** Reasoning and what services attach to parts are only understood by the model that made them. */
function assistantParts(parts: readonly Part[], isSameModel: boolean): AssistantPart[] {
  return parts.flatMap((one): AssistantPart[] => {
    const meta = isSameModel && one.meta ? { providerOptions: one.meta } : {};
    if (one.type === 'call')
      return [{ type: 'tool-call', toolCallId: one.id, toolName: one.name, input: one.arguments, ...meta }];
    if (one.type === 'text') return one.text === '' ? [] : [{ type: 'text', text: one.text, ...meta }];
    return isSameModel ? [{ type: 'reasoning', text: one.text, ...meta }] : [];
  });
}

/** A message as text, for a summary. */
export function renderSaid(one: Said, most: number): string {
  const cut = (text: string) => (text.length <= most ? text : `${text.slice(0, most)} [cut]`);
  switch (one.role) {
    case 'user':
      return `[received]\n${cut(one.text)}`;
    case 'summary':
      return `[summary of what was before]\n${[one.text, ...one.kept].join('\n\n')}`;
    case 'tool':
      return `[result of ${one.name}]\n${cut(one.text)}`;
    case 'assistant': {
      const calls = one.parts.flatMap((part) =>
        part.type === 'call' ? [`[called ${part.name}] ${cut(JSON.stringify(part.arguments))}`] : [],
      );
      const text = textOf(one.parts);
      return [...(text ? [`[wrote]\n${cut(text)}`] : []), ...calls].join('\n');
    }
  }
}
