import type { Dialect } from '../core/command.ts';
import { Refusal } from './refusal.ts';

/** Where the agent itself may go. What the service does for it goes nowhere else. */
export interface Reach {
  /** It may reach every host. */
  readonly everywhere: boolean;
  allows(url: URL): boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks what a model request asks the service itself to do: to search, to fetch, to run code, to read stored files. This
 * happens outside the sandbox, so that an agent could send data to hosts that it may not reach. Returns the tools without
 * those that the service executes; programs that offer them among others work without them. Throws for everything else.
 */
export function withoutServerSide(dialect: Dialect, fields: Fields, reach: Reach, own: URL): { tools?: unknown } {
  if (reach.everywhere) return {};
  const refused = remote[dialect].find((name) => isSet(fields[name]));
  if (refused) throw serverSide(`"${refused}"`);
  if (typeof fields.model === 'string' && /search-preview|search-api|deep-research|:online$/.test(fields.model)) {
    throw serverSide('This model');
  }
  for (const block of blocksOf(dialect, fields)) checkBlock(dialect, block, reach, own);
  if (!Array.isArray(fields.tools)) return isSet(fields.tools) ? { tools: [] } : {};
  const { tools } = fields;
  const kept = tools.flatMap((tool: unknown) => (dialect === 'gemini' ? declared(tool) : clientSide(dialect, tool)));
  // It is asked for nothing but its search, and would invent what it finds.
  if (tools.length > 0 && kept.length === 0) throw serverSide('A tool that the service executes');
  return { tools: kept };
}

/** Fields that name what the service is to contact or to search. Some are of compatible services. */
const remote: Readonly<Record<Dialect, readonly string[]>> = {
  anthropic: ['mcp_servers'],
  openai: ['prompt', 'web_search_options', 'plugins', 'search_parameters', 'enable_search'],
  gemini: ['cachedContent', 'cached_content'],
};

/** Tools that the program executes. What is not known is executed by the service. */
const executedByProgram: Readonly<Record<Exclude<Dialect, 'gemini'>, RegExp>> = {
  anthropic: /^(custom|(bash|text_editor|computer|memory|tool_search_tool_\w+?)_\d+)$/,
  openai: /^(function|custom|namespace|local_shell|shell|apply_patch|tool_search|computer|computer_use_preview)$/,
};

function clientSide(dialect: Exclude<Dialect, 'gemini'>, tool: unknown): unknown[] {
  if (!isFields(tool)) return [];
  const { type = dialect === 'anthropic' ? 'custom' : 'function', tools, environment } = tool;
  if (typeof type !== 'string' || !executedByProgram[dialect].test(type)) return [];
  // A shell may also be one of the service's containers.
  if (type === 'shell' && isFields(environment) && environment.type !== 'local') return [];
  if (!Array.isArray(tools)) return [tool];
  return [{ ...tool, tools: tools.flatMap((one: unknown) => clientSide(dialect, one)) }];
}

/** One entry of Gemini's list may hold several kinds of tools. */
function declared(tool: unknown): unknown[] {
  if (!isFields(tool)) return [];
  const kept = Object.entries(tool).filter(([name]) => /^(function_?declarations|computer_?use)$/i.test(name));
  return kept.length === 0 ? [] : [Object.fromEntries(kept)];
}

/** The parts of a conversation, also those inside results of tools; not the arguments of calls, which are data. */
function* blocksOf(dialect: Dialect, fields: Fields): Generator<Fields> {
  const lists =
    dialect === 'gemini'
      ? [fields, ...GEMINI_REQUESTS.map((name) => fields[name])].flatMap(geminiLists)
      : [fields.messages, fields.input, fields.system];
  for (const list of lists) yield* within(list);
}

/** A request to count tokens may contain the request that it is about. */
const GEMINI_REQUESTS = ['generateContentRequest', 'generate_content_request'];

function geminiLists(request: unknown): unknown[] {
  if (!isFields(request)) return [];
  return [request.contents, request.systemInstruction, request.system_instruction];
}

const NESTED = ['content', 'output', 'source', 'parts', 'functionResponse', 'function_response'];

function* within(value: unknown): Generator<Fields> {
  if (Array.isArray(value)) for (const one of value) yield* within(one);
  if (!isFields(value)) return;
  yield value;
  for (const name of NESTED) if (typeof value[name] === 'object') yield* within(value[name]);
}

function checkBlock(dialect: Dialect, block: Fields, reach: Reach, own: URL): void {
  const check = (address: unknown) => checkAddress(address, reach, own);
  if (dialect === 'gemini') {
    const files = [block.fileData, block.file_data].filter(isFields);
    for (const address of files.flatMap(({ fileUri, file_uri }) => [fileUri, file_uri]))
      if (isSet(address)) check(address);
    return;
  }
  if (dialect === 'anthropic') {
    if (block.type === 'url') check(block.url);
    if (block.type === 'file' || block.type === 'container_upload') throw stored(`"${block.type}"`);
    return;
  }
  if (block.type === 'item_reference') throw stored('"item_reference"');
  // What the program's own search for tools has found.
  if (Array.isArray(block.tools) && block.tools.some((tool) => clientSide(dialect, tool).length === 0)) {
    throw serverSide('A tool that the service executes');
  }
  for (const part of [block, block.file]) {
    if (!isFields(part)) continue;
    if (isSet(part.file_id)) throw stored('"file_id"');
    for (const name of ['image_url', 'file_url', 'video_url', 'audio_url', 'file_data']) {
      const address = isFields(part[name]) ? part[name].url : part[name];
      if (typeof address === 'string' && /^\s*[a-z][a-z0-9+.-]*:/i.test(address)) check(address);
    }
  }
}

function checkAddress(address: unknown, reach: Reach, own: URL): void {
  if (typeof address === 'string' && /^data:/i.test(address)) return;
  const url = typeof address === 'string' ? URL.parse(address) : null;
  if (url?.host === own.host) throw stored('A file of the service');
  if (url && /^https?:$/.test(url.protocol) && reach.allows(url)) return;
  const host = url?.hostname || 'an address';
  throw new Refusal(
    403,
    `The service would fetch from ${host.slice(0, 200)}, which this agent may not reach. Send the data itself, or list the host in [sandbox] network.`,
  );
}

function serverSide(what: string): Refusal {
  return new Refusal(
    403,
    `${what} makes the service contact other hosts or run code outside the sandbox, which is not allowed. An agent whose [sandbox] network is ["*"] may use it.`,
  );
}

function stored(what: string): Refusal {
  return new Refusal(403, `${what} refers to data that is stored at the service, which is not allowed.`);
}

function isSet(value: unknown): boolean {
  const isEmpty = Array.isArray(value) && value.length === 0;
  return value !== undefined && value !== null && value !== false && !isEmpty;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
