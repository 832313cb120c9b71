import * as z from 'zod';
import type { Guard } from '../../core/guard.ts';
import type { OwnKind } from '../../core/own-tool.ts';
import { readEvent } from '../lines.ts';
import { ownCall } from '../own-calls.ts';
import { OWN_TOOLS } from './args.ts';

const BEGIN = 'substrat-hook';
const KINDS: ReadonlyMap<string, OwnKind> = new Map([
  ['Bash', 'shell'],
  ['Read', 'read'],
  ['Glob', 'read'],
  ['Grep', 'read'],
  ['Edit', 'write'],
  ['Write', 'write'],
  ['NotebookEdit', 'write'],
]);
/** Of settings that only tell how the call is shown or how long it may take. */
const SILENT = ['description', 'timeout'];

const line = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('control_response'),
    response: z.looseObject({ subtype: z.string(), request_id: z.string() }),
  }),
  z.object({
    type: z.literal('control_request'),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
]);
/** The hook's question, with what the call would do. */
const wanted = z.looseObject({
  tool_use_id: z.string(),
  input: z.looseObject({ tool_name: z.string(), tool_input: z.unknown(), cwd: z.string().optional() }),
});
/** The question of its own permission rules, which follows the hook. */
const confirmed = z.looseObject({ tool_use_id: z.string() });

/**
 * A `PreToolUse` hook on the program's own connection, as its SDK registers it: no file or process in the sandbox takes
 * part in it, so an agent cannot change it. Every call of an own tool waits for the daemon's answer. The program goes on
 * if a hook fails or takes too long, so its permission rules make it ask again (`judged` in args.ts): only a call that
 * the hook has allowed is confirmed, with the arguments that were judged.
 */
export function createGuarding(guard: Guard, workspace: string, write: (line: object) => void) {
  const allowed = new Map<string, object>();
  const answer = (id: string, response: object): void =>
    write({ type: 'control_response', response: { subtype: 'success', request_id: id, response } });

  function decide(id: string, { tool_use_id, input }: z.infer<typeof wanted>): void {
    const { tool_name, tool_input, cwd } = input;
    const given = typeof tool_input === 'object' && tool_input !== null ? tool_input : {};
    const kept = Object.fromEntries(Object.entries(given).filter(([name]) => !SILENT.includes(name)));
    const kind = KINDS.get(tool_name) ?? 'other';
    const call = ownCall(kind, kind === 'shell' ? { ...kept, cwd: cwd ?? workspace } : kept, workspace);
    void guard.permit(call).then((permission) => {
      if (permission.allowed) allowed.set(tool_use_id, given);
      const hookSpecificOutput = {
        hookEventName: 'PreToolUse',
        permissionDecision: permission.allowed ? 'allow' : 'deny',
        permissionDecisionReason: permission.allowed ? 'A policy of Substrat allows it.' : permission.message,
      };
      answer(id, { hookSpecificOutput });
    });
  }

  function confirm(id: string, { tool_use_id }: z.infer<typeof confirmed>): void {
    const updatedInput = allowed.get(tool_use_id);
    allowed.delete(tool_use_id);
    const message = 'Substrat could not judge this call, so it was not executed.';
    answer(id, updatedInput ? { behavior: 'allow', updatedInput } : { behavior: 'deny', message });
  }

  return {
    failure: 'It did not accept the hook that enforces the policies.',
    begin(): void {
      const hooks = { PreToolUse: [{ matcher: OWN_TOOLS.join('|'), hookCallbackIds: ['policies'] }] };
      write({ type: 'control_request', request_id: BEGIN, request: { subtype: 'initialize', hooks } });
    },
    /** `ready` once the hook is there; `unknown` for a line that is not about it. */
    heard(text: string): 'ready' | 'failed' | 'handled' | 'unknown' {
      if (!text.includes('"control_re')) return 'unknown';
      const read = readEvent(line, text);
      if (!read) return 'unknown';
      if (read.type === 'control_response') {
        if (read.response.request_id !== BEGIN) return 'unknown';
        return read.response.subtype === 'success' ? 'ready' : 'failed';
      }
      const { request_id: id, request } = read;
      const { data: call } = request.subtype === 'hook_callback' ? wanted.safeParse(request) : {};
      const { data: question } = request.subtype === 'can_use_tool' ? confirmed.safeParse(request) : {};
      if (call) decide(id, call);
      else if (question) confirm(id, question);
      else {
        const response = { subtype: 'error', request_id: id, error: 'Nobody can be asked.' };
        write({ type: 'control_response', response });
      }
      return 'handled';
    },
  };
}
