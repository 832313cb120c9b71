import { at, type Call, type Dialect, list, pieces, type Usage, word } from './model.ts';

const PATH = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Gemini's generateContent. */
export const gemini: Dialect = {
  name: 'gemini',
  matches: (path) => PATH.test(path),
  keyOf: (headers, url) =>
    headers['x-goog-api-key'] === undefined
      ? (url.searchParams.get('key') ?? undefined)
      : `${headers['x-goog-api-key']}`,
  read: (body, path) => {
    const [, model = '', method = ''] = PATH.exec(path) ?? [];
    return {
      model,
      stream: method === 'streamGenerateContent',
      system: textsOf(at(body, 'systemInstruction')),
      messages: list(at(body, 'contents')).flatMap((content) =>
        list(at(content, 'parts')).map((part) => {
          const result = at(part, 'functionResponse');
          if (result !== undefined) return { role: 'tool' as const, text: JSON.stringify(at(result, 'response')) };
          const role = at(content, 'role') === 'model' ? ('assistant' as const) : ('user' as const);
          return { role, text: word(at(part, 'text')) };
        }),
      ),
      tools: list(at(body, 'tools'))
        .flatMap((tool) => list(at(tool, 'functionDeclarations')))
        .map((tool) => word(at(tool, 'name'))),
    };
  },
  whole: ({ text, calls, usage }, model) => chunk([...(text ? [{ text }] : []), ...calls.map(call)], model, usage),
  stream: ({ text, calls, usage }, model) => [
    ...pieces(text).map((piece) => ({ data: chunk([{ text: piece }], model, null) })),
    { data: chunk(calls.map(call), model, usage) },
  ],
  refusal: ({ status, message, error }) => ({
    error: { code: status, message, status: statuses[status] ?? 'INTERNAL', ...error },
  }),
};

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

function textsOf(content: unknown): string {
  return list(at(content, 'parts'))
    .map((part) => word(at(part, 'text')))
    .join('');
}

function call({ name, arguments: args }: Call) {
  return { functionCall: { name, args } };
}

/** The last chunk has the usage and the reason. */
function chunk(parts: object[], modelVersion: string, usage: Usage | null) {
  const finish = usage && {
    usageMetadata: {
      promptTokenCount: usage.input,
      cachedContentTokenCount: usage.cached ?? 0,
      candidatesTokenCount: usage.output,
      totalTokenCount: usage.input + usage.output,
    },
  };
  const candidate = { index: 0, content: { role: 'model', parts }, ...(usage && { finishReason: 'STOP' }) };
  return { candidates: [candidate], modelVersion, ...finish };
}
