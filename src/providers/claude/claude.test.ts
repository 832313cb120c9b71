import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { codingProvider } from '../../../test/helpers/coding-provider.ts';
import type { Guard } from '../../core/guard.ts';
import { type Changes, changed, collect, makeTurn, startedBy, testProvider } from '../provider.testsuite.ts';
import type { Turn } from '../provider.ts';
import { claude } from './claude.ts';
import { createDialogue } from './dialogue.ts';

const { subject, person, options } = codingProvider('claude', claude);
const session = '11111111-2222-4333-8444-555555555555';

testProvider({ ...subject, shell: 'Bash', judged: true });

describe('claude()', () => {
  let turn: Turn;

  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'claude-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    turn = makeTurn(directory);
    writeFileSync(turn.launch.mcpConfig, '{"mcpServers":{}}');
  });

  /** The command of a turn and what it needs, without starting it. */
  const started = (changes: Changes = {}, more: Partial<typeof options> = {}) =>
    startedBy(claude({ ...options, ...more }), turn, changes);

  test('names its tools, so that it gets no others, and answers every question itself', async () => {
    const { command, value } = await started({ model: 'opus' });
    expect(value('--tools')).toBe('Bash,Read,Edit,Write,Glob,Grep,NotebookEdit');
    expect(value('--allowedTools')).toBe(`${value('--tools')},mcp__substrat`);
    expect(value('--permission-mode')).toBe('dontAsk');
    expect(value('--model')).toBe('opus');
    expect(value('--setting-sources')).toBe('');
    expect(command.args).toContain('--strict-mcp-config');
    expect(command.args).not.toContain('--resume');
    expect(value('--mcp-config')).toBe(turn.launch.mcpConfig);
    expect((await started({}, { confined: true })).value('--permission-mode')).toBe('bypassPermissions');
  });

  test('gets only our tools if its own are off', async () => {
    const { value } = await started({}, { ownTools: false, confined: true });
    expect(value('--tools')).toBe('');
    expect(value('--allowedTools')).toBe('mcp__substrat');
    expect(value('--permission-mode')).toBe('dontAsk');
  });

  test('resumes a session, and gets the instructions as a file', async () => {
    const { value } = await started({ session });
    expect(value('--resume')).toBe(session);
    expect(readFileSync(`${value('--append-system-prompt-file')}`, 'utf8')).toBe('Be brief.');
  });

  test('knows an unknown session', async () => {
    const events = await collect(claude(options).runTurn(changed(turn, { session })));
    expect(events).toEqual([{ type: 'error', kind: 'bad_session', message: expect.stringContaining(session) }]);
  });

  test.each([
    ['ANTHROPIC_API_KEY', { 'x-api-key': 'sk-secret' }],
    ['CLAUDE_CODE_OAUTH_TOKEN', { authorization: 'Bearer sk-secret' }],
  ])('in a sandbox, %s stays outside', async (variable, headers) => {
    const { command, needs } = await started({}, { confined: true, extraEnv: { [variable]: 'sk-secret' } });
    expect(JSON.stringify(command)).not.toContain('sk-secret');
    expect(command.env[variable]).toMatch(/./);
    expect(needs).toMatchObject({ endpoints: [{ url: 'https://api.anthropic.com', headers }] });
    expect(needs.hosts).toBeUndefined();
  });

  test('in a sandbox, it gets the login of the person without the token that renews it', async () => {
    mkdirSync(join(person, '.claude'), { recursive: true });
    const login = { accessToken: 'for now', refreshToken: 'for ever', expiresAt: 1 };
    writeFileSync(join(person, '.claude/.credentials.json'), JSON.stringify({ claudeAiOauth: login }));
    const { needs } = await started({}, { confined: true });
    const lent = readFileSync(join(turn.launch.home, '.claude/.credentials.json'), 'utf8');
    expect(JSON.parse(lent)).toEqual({ claudeAiOauth: { accessToken: 'for now', expiresAt: 1 } });
    expect(needs.hosts).toEqual(['api.anthropic.com']);
  });

  test('inherits no variables of other programs', async () => {
    const env = { ...options.env, CLAUDE_CODE_ENTRYPOINT: 'cli', OPENCODE: '1', ANTHROPIC_API_KEY: 'x' };
    const { command } = await started({}, { env });
    expect(Object.keys(command.env)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(CLAUDE_CODE_ENTRYPOINT|OPENCODE|ANTHROPIC_API_KEY)$/)]),
    );
  });

  test('with policies, every call of an own tool is a question, and only what the hook has allowed is confirmed', async () => {
    const guard: Guard = { permit: async () => ({ allowed: true }), verdict: () => 'allow' };
    const { value } = await started({ guard }, { confined: true });
    expect(value('--permission-mode')).toBe('default');
    expect(value('--permission-prompt-tool')).toBe('stdio');
    expect(value('--allowedTools')).toBe('mcp__substrat');
    expect(JSON.parse(`${value('--settings')}`).permissions.ask.join()).toBe(value('--tools'));
    const { input, parse } = createDialogue({ ...turn, guard }, { toolsOverHttp: false });
    const lines = (input as Readable)[Symbol.asyncIterator]();
    const answered = async (id: string, request: object) => {
      parse(JSON.stringify({ type: 'control_request', request_id: id, request }));
      return JSON.parse(String((await lines.next()).value)).response.response;
    };
    await lines.next();
    const tool_input = { command: 'ls' };
    const hook = { subtype: 'hook_callback', input: { tool_name: 'Bash', tool_input } };
    const question = { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'ls /' } };
    expect(await answered('1', { ...question, tool_use_id: 'a' })).toMatchObject({ behavior: 'deny' });
    expect(await answered('2', { ...hook, tool_use_id: 'b' })).toHaveProperty('hookSpecificOutput');
    expect(await answered('3', { ...question, tool_use_id: 'a' })).toMatchObject({ behavior: 'deny' });
    const allowed = { behavior: 'allow', updatedInput: tool_input };
    expect(await answered('4', { ...question, tool_use_id: 'b' })).toEqual(allowed);
    expect(await answered('5', { ...question, tool_use_id: 'b' })).toMatchObject({ behavior: 'deny' });
  });

  test('in a sandbox, it gets the prompt when it has connected to the tools, or the turn fails', async () => {
    const { command, needs } = await started({}, { confined: true });
    expect(command.args).not.toContain('--mcp-config');
    expect(needs).toMatchObject({ tools: true, waits: true });
    const { input, parse } = createDialogue(turn, { toolsOverHttp: true });
    const lines = (input as Readable)[Symbol.asyncIterator]();
    const sent = async () => JSON.parse(String((await lines.next()).value));
    const { request_id, request } = await sent();
    expect(request).toMatchObject({ servers: { substrat: { type: 'http', url: 'http://127.0.0.1:18731/mcp' } } });
    const answer = (response: object) =>
      parse(JSON.stringify({ type: 'control_response', response: { request_id, ...response } }));
    expect(answer({ subtype: 'success', response: { added: ['substrat'], errors: {} } })).toEqual([]);
    expect(await sent()).toMatchObject({ message: { content: [{ text: 'Say hello.' }] } });
    const error = { type: 'error', message: expect.stringContaining("could not connect to Substrat's tools") };
    expect(answer({ subtype: 'success', response: { added: [], errors: { substrat: 'no' } } })).toMatchObject([error]);
  });

  test('a message that came too late for its turn gets a turn of its own, and both results count', async () => {
    const { parse, steer } = createDialogue(turn, { toolsOverHttp: false });
    const taken: string[] = [];
    const result = (text: string) => JSON.stringify({ type: 'result', is_error: false, result: text, session_id: 's' });
    const message = { role: 'user', content: [{ type: 'text', text: 'late' }] };
    steer?.({ text: 'late', taken: () => void taken.push('late') });
    expect(parse(result('the answer')).map(({ type }) => type)).toEqual(['session']);
    parse(JSON.stringify({ type: 'user', message, isReplay: true }));
    expect(taken).toEqual(['late']);
    expect(parse(result('noted')).at(-1)).toEqual({ type: 'done', text: 'the answer\n\nnoted' });
  });
});
