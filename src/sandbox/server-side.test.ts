import { describe, expect, test } from 'vitest';
import type { Dialect } from '../core/command.ts';
import { createAllowList, normalName } from './hosts.ts';
import { withoutServerSide } from './server-side.ts';

const OWN = new URL('https://api.example.com/v1/x');

function ask(dialect: Dialect, fields: object, hosts: readonly string[] = ['listed.org']) {
  const list = createAllowList(hosts);
  const allows = ({ hostname }: URL) => list.allowsName(normalName(hostname), 443);
  return withoutServerSide(dialect, { ...fields }, { everywhere: hosts.includes('*'), allows }, OWN);
}

const part = (content: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, content] }] });
const item = (content: object) => ({ input: [{ type: 'message', role: 'user', content: [content] }] });
const chunk = (content: object) => ({ contents: [{ role: 'user', parts: [{ text: 'x' }, content] }] });
const EVIL = 'https://evil.org/?secret';

describe('withoutServerSide()', () => {
  const ours = {
    anthropic: [
      { name: 'a', input_schema: { type: 'object', properties: { file_id: { type: 'string' } } } },
      { type: 'custom', name: 'b', input_schema: {} },
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'edit' },
      { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    ],
    openai: [
      { type: 'function', name: 'a', parameters: {} },
      { type: 'function', function: { name: 'a' } },
      { type: 'custom', name: 'apply_patch', format: {} },
      { type: 'local_shell' },
      { type: 'shell', environment: { type: 'local' } },
      { type: 'namespace', name: 'substrat', tools: [{ type: 'function', name: 'b' }] },
    ],
    gemini: [{ functionDeclarations: [{ name: 'a' }] }, { function_declarations: [{ name: 'b' }] }],
  };
  const theirs = {
    anthropic: [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
      { type: 'mcp_toolset', mcp_server_name: 'x' },
      { type: 'bash_20250124_remote' },
      { type: null, name: 'x' },
      'web_search',
    ],
    openai: [
      { type: 'web_search' },
      { type: 'web_search_preview' },
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'mcp', server_url: EVIL },
      { type: 'image_generation' },
      { type: 'shell', environment: { type: 'container_auto' } },
      { type: 'of_tomorrow' },
    ],
    gemini: [
      { googleSearch: {} },
      { google_search: {} },
      { urlContext: {} },
      { url_context: {} },
      { codeExecution: {} },
      { fileSearch: {} },
      { googleMaps: {} },
      { mcpServers: [{ streamableHttpTransport: { url: EVIL } }] },
    ],
  };

  test.each(['anthropic', 'openai', 'gemini'] as const)('keeps the tools that a program of %s executes', (dialect) => {
    expect(ask(dialect, { tools: ours[dialect] })).toEqual({ tools: ours[dialect] });
    expect(ask(dialect, { tools: [...theirs[dialect], ...ours[dialect]] })).toEqual({ tools: ours[dialect] });
    expect(ask(dialect, { tools: [] })).toEqual({ tools: [] });
    expect(ask(dialect, {})).toEqual({});
  });

  test.each(
    (['anthropic', 'openai', 'gemini'] as const).flatMap((dialect) =>
      theirs[dialect].map((tool) => [dialect, tool] as const),
    ),
  )('%s: refuses a request for nothing but %o, and lets it pass to everywhere', (dialect, tool) => {
    expect(() => ask(dialect, { tools: [tool] })).toThrow(/makes the service contact other hosts/);
    expect(ask(dialect, { tools: [tool] }, ['*'])).toEqual({});
  });

  test('looks into namespaces, entries with several kinds and tools that a search found', () => {
    const nested = { type: 'namespace', name: 'n', tools: [{ type: 'mcp', server_url: EVIL }, ours.openai[0]] };
    expect(ask('openai', { tools: [nested] })).toEqual({ tools: [{ ...nested, tools: [ours.openai[0]] }] });
    const both = { functionDeclarations: [{ name: 'a' }], googleSearch: {} };
    expect(ask('gemini', { tools: [both] })).toEqual({ tools: [{ functionDeclarations: [{ name: 'a' }] }] });
    const found = { type: 'tool_search_output', tools: [{ type: 'mcp', server_url: EVIL }] };
    expect(() => ask('openai', { input: [found] })).toThrow(/contact other hosts/);
    expect(ask('openai', { input: [{ ...found, tools: ours.openai }] })).toEqual({});
  });

  test.each<[Dialect, object]>([
    ['anthropic', part({ type: 'image', source: { type: 'url', url: EVIL } })],
    ['anthropic', part({ type: 'document', source: { type: 'url', url: EVIL } })],
    ['anthropic', part({ type: 'tool_result', content: [{ type: 'image', source: { type: 'url', url: EVIL } }] })],
    [
      'anthropic',
      part({ type: 'document', source: { type: 'content', content: [{ source: { type: 'url', url: EVIL } }] } }),
    ],
    ['anthropic', { system: [{ type: 'image', source: { type: 'url', url: EVIL } }] }],
    ['openai', part({ type: 'image_url', image_url: { url: EVIL } })],
    ['openai', part({ type: 'image_url', image_url: EVIL })],
    ['openai', part({ type: 'video_url', video_url: { url: EVIL } })],
    ['openai', part({ type: 'file', file: { file_data: EVIL } })],
    ['openai', item({ type: 'input_image', image_url: EVIL })],
    ['openai', item({ type: 'input_file', file_url: 'gs://evil.org/x' })],
    ['openai', { input: [{ type: 'function_call_output', output: [{ type: 'input_image', image_url: EVIL }] }] }],
    ['openai', { input: [{ type: 'computer_call_output', output: { image_url: EVIL } }] }],
    ['gemini', chunk({ fileData: { fileUri: EVIL } })],
    ['gemini', chunk({ file_data: { file_uri: EVIL, fileUri: 'https://listed.org/' } })],
    ['gemini', chunk({ functionResponse: { name: 'a', parts: [{ fileData: { fileUri: EVIL } }] } })],
    ['gemini', { generateContentRequest: chunk({ fileData: { fileUri: EVIL } }) }],
    ['gemini', { systemInstruction: { parts: [{ fileData: { fileUri: EVIL } }] } }],
  ])('%s: refuses an address that the agent may not reach: %o', (dialect, fields) => {
    expect(() => ask(dialect, fields)).toThrow(/would fetch from evil\.org, which this agent may not reach/);
    expect(ask(dialect, fields, ['*'])).toEqual({});
    const listed = JSON.parse(JSON.stringify(fields).replaceAll('evil.org', 'listed.org').replaceAll('gs:', 'https:'));
    expect(ask(dialect, listed)).toEqual({});
  });

  test.each<[Dialect, object]>([
    ['anthropic', part({ type: 'document', source: { type: 'file', file_id: 'file_1' } })],
    ['anthropic', part({ type: 'container_upload', file_id: 'file_1' })],
    ['openai', part({ type: 'file', file: { file_id: 'file-1' } })],
    ['openai', item({ type: 'input_image', file_id: 'file-1' })],
    ['openai', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
    ['gemini', chunk({ fileData: { fileUri: 'https://api.example.com/v1beta/files/x' } })],
  ])('%s: refuses what is stored at the service: %o', (dialect, fields) => {
    expect(() => ask(dialect, fields, ['api.example.com'])).toThrow(/stored at the service/);
  });

  test.each<[Dialect, object]>([
    ['anthropic', { mcp_servers: [{ type: 'url', url: EVIL }] }],
    ['openai', { prompt: { id: 'pmpt_1' } }],
    ['openai', { web_search_options: {} }],
    ['openai', { plugins: [{ id: 'web' }] }],
    ['openai', { search_parameters: { mode: 'on' } }],
    ['openai', { model: 'gpt-4o-search-preview' }],
    ['openai', { model: 'o3-deep-research' }],
    ['openai', { model: 'x/y:online' }],
    ['gemini', { cachedContent: 'cachedContents/1' }],
  ])('%s: refuses %o', (dialect, fields) => {
    expect(() => ask(dialect, fields)).toThrow(/contact other hosts/);
    expect(ask(dialect, fields, ['*'])).toEqual({});
  });

  test.each<[Dialect, object]>([
    ['anthropic', part({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } })],
    ['anthropic', part({ type: 'tool_use', input: { type: 'url', url: EVIL, file_id: 'x', source: { type: 'url' } } })],
    ['anthropic', part({ type: 'search_result', source: EVIL, content: [{ type: 'text', text: 'x' }] })],
    ['anthropic', { mcp_servers: [] }],
    ['openai', item({ type: 'input_image', image_url: 'data:image/png;base64,AAAA', file_id: null })],
    ['openai', item({ type: 'input_file', filename: 'a.pdf', file_data: 'AAAA' })],
    ['openai', { input: [{ type: 'function_call', arguments: `{"image_url":"${EVIL}"}` }], prompt: null }],
    ['openai', { input: `Look at ${EVIL}`, enable_search: false }],
    ['gemini', chunk({ inlineData: { data: 'AAAA' } })],
    ['gemini', chunk({ functionCall: { args: { fileData: { fileUri: EVIL } } } })],
    ['gemini', chunk({ functionResponse: { response: { fileData: { fileUri: EVIL } } } })],
  ])('%s: takes data for data: %o', (dialect, fields) => {
    expect(ask(dialect, fields)).toEqual({});
  });
});
