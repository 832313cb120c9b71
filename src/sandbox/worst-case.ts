import type { Dialect } from '../core/command.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a model request can use at most, as far as its size and its own limit say. */
export interface WorstCase {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** With less than this, the model could not answer. */
  readonly leastOutput: number;
}

/** A token has about so many bytes. */
const TOKEN_BYTES = 4;
/** Of an image, whatever its file has. */
const IMAGE_TOKENS = 2_000;
/** What a model may write if the request does not limit it. */
const DEFAULT_OUTPUT = 32_000;
const LEAST_OUTPUT = 1_000;

/** Estimates by the bytes of the body: counting its tokens would take the main thread seconds. */
export function worstCase(dialect: Dialect, fields: Fields, bytes: number): WorstCase {
  const images = imagesIn(fields);
  const answers = answersOf(dialect, fields);
  const most = limitOf(dialect, fields) ?? DEFAULT_OUTPUT;
  // A model that thinks gets nothing to answer with unless more is left than what it may think.
  const thinking = numberIn(fieldsOf(fields.thinking), 'budget_tokens') ?? 0;
  return {
    inputTokens: Math.ceil((bytes - images.bytes) / TOKEN_BYTES) + images.count * IMAGE_TOKENS,
    outputTokens: most * answers,
    leastOutput: Math.min(most, thinking + LEAST_OUTPUT) * answers,
  };
}

/** The fields of a request whose answers have at most so many tokens together. */
export function limited(dialect: Dialect, path: string, fields: Fields, outputTokens: number): Fields {
  const most = Math.floor(outputTokens / answersOf(dialect, fields));
  if (most >= (limitOf(dialect, fields) ?? DEFAULT_OUTPUT)) return fields;
  if (dialect === 'anthropic') return { ...fields, max_tokens: most };
  if (dialect === 'gemini') {
    const { generationConfig, generation_config: snake, ...rest } = fields;
    const { max_output_tokens: _, ...settings } = { ...fieldsOf(snake), ...fieldsOf(generationConfig) };
    return { ...rest, generationConfig: { ...settings, maxOutputTokens: most } };
  }
  if (path.endsWith('/compact')) return fields;
  if (path.endsWith('/responses')) return { ...fields, max_output_tokens: most };
  // Services know one of the two, and some refuse the other.
  const { max_tokens: old, max_completion_tokens: current, ...rest } = fields;
  const isOld = old !== undefined && current === undefined;
  return { ...rest, [isOld ? 'max_tokens' : 'max_completion_tokens']: most };
}

function limitOf(dialect: Dialect, fields: Fields): number | null {
  if (dialect === 'anthropic') return numberIn(fields, 'max_tokens');
  if (dialect === 'openai') return numberIn(fields, 'max_output_tokens', 'max_completion_tokens', 'max_tokens');
  return numberIn(settingsOf(fields), 'maxOutputTokens', 'max_output_tokens');
}

/** How many answers the model writes to one request. */
function answersOf(dialect: Dialect, fields: Fields): number {
  if (dialect === 'anthropic') return 1;
  const count =
    dialect === 'openai' ? numberIn(fields, 'n') : numberIn(settingsOf(fields), 'candidateCount', 'candidate_count');
  return Math.max(1, count ?? 1);
}

function settingsOf(fields: Fields): Fields {
  return { ...fieldsOf(fields.generation_config), ...fieldsOf(fields.generationConfig) };
}

/** The largest of these fields, so that none is overlooked. */
function numberIn(fields: Fields, ...names: readonly string[]): number | null {
  const found = names.map((name) => fields[name]).filter((value) => typeof value === 'number' && value > 0) as number[];
  return found.length === 0 ? null : Math.max(...found);
}

/** Images inside a request: their bytes say nothing about tokens. The services read these fields as images only. */
function imagesIn(value: unknown): { readonly count: number; readonly bytes: number } {
  let [count, bytes] = [0, 0];
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const image = imageOf(next as Fields);
    if (image !== null) {
      count += 1;
      bytes += image.length;
    }
    for (const part of Object.values(next)) if (typeof part === 'object' && part !== null) open.push(part);
  }
  return { count, bytes };
}

function imageOf(part: Fields): string | null {
  const type = part.media_type ?? part.mimeType ?? part.mime_type;
  if (typeof part.data === 'string' && typeof type === 'string' && type.startsWith('image/')) return part.data;
  const url =
    part.type === 'input_image' ? part.image_url : part.type === 'image_url' ? fieldsOf(part.image_url).url : null;
  return typeof url === 'string' && url.startsWith('data:image/') ? url : null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
