import * as z from 'zod';
import type { Guard } from '../../core/guard.ts';
import type { OwnKind } from '../../core/own-tool.ts';
import { readEvent } from '../lines.ts';
import { ownCall } from '../own-calls.ts';
import { OWN_TOOLS } from './args.ts';

const BEGIN = 'substrat-hook';
const KINDS: Readonly<Record<string, OwnKind>> = {
  Bash: 'shell',
  Read: 'read',
  Glob: 'read',
  Grep: 'read',
  Edit: 'write',
  Write: 'write',
  NotebookEdit: 'write',
};
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
    request: z.looseObject({
      subtype: z.string(),
      input: z.looseObject({ tool_name: z.string(), tool_input: z.unknown(), cwd: z.string().optional() }).optional(),
    }),
  }),
]);

/**
 * A `PreToolUse` hook on the program's own connection, as its SDK registers it: no file or process in the sandbox takes
 * part in it, so an agent cannot change it. Every call of an own tool waits for the daemon's answer.
 */
export function createGuarding(guard: Guard, workspace: string, write: (line: object) => void) {
  function decide(id: string, input: { tool_name: string; tool_input?: unknown; cwd?: string | undefined }): void {
    const { tool_name, tool_input, cwd } = input;
    const given = typeof tool_input === 'object' && tool_input !== null ? tool_input : {};
    const kept = Object.fromEntries(Object.entries(given).filter(([name]) => !SILENT.includes(name)));
    const kind = KINDS[tool_name] ?? 'other';
    const call = ownCall(kind, kind === 'shell' ? { ...kept, cwd: cwd ?? workspace } : kept, workspace);
    void guard.permit(call).then((permission) => {
      const hookSpecificOutput = {
        hookEventName: 'PreToolUse',
        permissionDecision: permission.allowed ? 'allow' : 'deny',
        permissionDecisionReason: permission.allowed ? 'A policy of Substrat allows it.' : permission.message,
      };
      const response = { subtype: 'success', request_id: id, response: { hookSpecificOutput } };
      write({ type: 'control_response', response });
    });
  }

  return {
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
        if (read.response.request_id !== BEGIN) return 'handled';
        return read.response.subtype === 'success' ? 'ready' : 'failed';
      }
      const { request_id: id, request } = read;
      if (request.subtype === 'hook_callback' && request.input) decide(id, request.input);
      else {
        const response = { subtype: 'error', request_id: id, error: 'Nobody can be asked.' };
        write({ type: 'control_response', response });
      }
      return 'handled';
    },
  };
}
