import { describe, expect, test } from 'vitest';
import { createParser } from './parse.ts';

const parse = createParser((tool, reason) => `${tool} was rejected: ${reason}`);
const call = (id: string, tool_call: object, subtype = 'completed') =>
  parse(JSON.stringify({ type: 'tool_call', subtype, call_id: id, tool_call }));

describe('tool calls', () => {
  test('are emitted within limits, whatever the program prints', () => {
    const nested = JSON.parse(`${'['.repeat(50)}${']'.repeat(50)}`);
    const events = [
      call('1', { readToolCall: { args: { path: 'a\0b' }, result: { success: { content: 'x'.repeat(200_000) } } } }),
      call('2', { 'odd\nnameToolCall': { args: {} } }),
      call('3', { editToolCall: { args: nested, result: { error: { error: 'no' } } } }),
      call('4', { function: { name: 'web\u0085search', arguments: '{}' } }, 'started'),
      call('5', {}),
      call('6', { mcpToolCall: 'nothing' }),
    ].flat();
    const calls = events.flatMap((event) => (event.type === 'tool_call' ? [[event.id, event.name]] : []));
    expect(calls).toEqual([
      ['1', 'read'],
      ['3', 'edit'],
      ['4', 'web search'],
    ]);
    expect(Math.max(...events.map((event) => JSON.stringify(event).length))).toBeLessThan(110_000);
  });

  test('of our server are recorded by us, unless the program rejected them', () => {
    const args = { providerIdentifier: 'substrat', toolName: 'list_agents', args: {} };
    const told = { type: 'tool_call', id: '1', name: 'substrat:list_agents', arguments: {} };
    expect(call('1', { mcpToolCall: { args } }, 'started')).toEqual([{ ...told, ours: true }]);
    expect(call('1', { mcpToolCall: { args, result: { success: {} } } })).toEqual([
      { ...told, ours: true },
      { type: 'tool_result', id: '1', result: {}, isError: false, ours: true },
    ]);
    const result = { rejected: { reason: 'no' } };
    expect(call('1', { mcpToolCall: { args, result } })).toEqual([
      told,
      { type: 'tool_result', id: '1', result, isError: true },
      { type: 'stop', failure: { type: 'error', kind: 'invalid_request', message: 'list_agents was rejected: no' } },
    ]);
  });

  test("of another server are the program's own", () => {
    const args = { providerIdentifier: 'theirs', toolName: 'list_agents', args: {} };
    expect(call('1', { mcpToolCall: { args } }, 'started')).toEqual([
      { type: 'tool_call', id: '1', name: 'theirs:list_agents', arguments: {} },
    ]);
  });
});
