import * as z from 'zod';
import { OWN_KINDS, type OwnCall, type OwnKind } from '../../core/own-tool.ts';
import { ownCall } from '../own-calls.ts';
import type { Turn } from '../provider.ts';
import type { Failed } from '../verdict.ts';
import { ourTool, type ToolCall, toolCall } from './calls.ts';

/** The protocol's kinds of tools. */
const KINDS: ReadonlyMap<string, OwnKind> = new Map([
  ['execute', 'shell'],
  ['read', 'read'],
  ['search', 'read'],
  ['edit', 'write'],
  ['delete', 'write'],
  ['move', 'write'],
  ['fetch', 'other'],
  ['think', 'other'],
  ['switch_mode', 'other'],
  ['other', 'other'],
]);
const STRICTNESS = ['allow', 'ask', 'deny'];
const notification = z.object({ update: z.looseObject({ sessionUpdate: z.string() }) });

/** Holds the agent's policies against what the program asks for, and against what it did without asking. */
export function createGuarding({ guard, workspace }: Pick<Turn, 'guard' | 'workspace'>, name: string) {
  const known = new Map<string, ToolCall>();
  const permitted = new Set<string>();

  /** A program may say a call's kind and arguments in earlier messages. Of an unknown kind, the strictest policy counts. */
  function callOf(call: ToolCall): OwnCall {
    const whole = { ...known.get(call.toolCallId), ...present(call) };
    const kind = KINDS.get(whole.kind ?? '');
    const input = whole.rawInput ?? { title: whole.title };
    const calls = (kind ? [kind] : OWN_KINDS).map((one) => ownCall(one, input, workspace));
    const strictness = (one: OwnCall) => STRICTNESS.indexOf(guard?.verdict(one) ?? 'allow');
    return calls.reduce((a, b) => (strictness(b) > strictness(a) ? b : a));
  }

  return {
    /** Whether it is a call of our tools, by all that the program has said of it. */
    isOurs: (call: ToolCall): boolean => ourTool({ ...known.get(call.toolCallId), ...present(call) }) !== null,
    /** Answers once it is known; not later than the store answers. */
    decide(call: ToolCall, answer: (isAllowed: boolean, message?: string) => void): void {
      if (!guard) answer(true);
      void guard?.permit(callOf(call)).then((permission) => {
        if (permission.allowed) permitted.add(call.toolCallId);
        answer(permission.allowed, permission.allowed ? undefined : permission.message);
      });
    },
    /** The program has done something that it had to ask for: it cannot be trusted with these policies. */
    unasked(params: unknown): Failed | null {
      const { data } = notification.safeParse(params);
      if (!data?.update.sessionUpdate.startsWith('tool_call')) return null;
      const call = toolCall.safeParse(data.update).data;
      if (!call) return null;
      const whole = { ...known.get(call.toolCallId), ...present(call) };
      if (whole.status === 'completed' || whole.status === 'failed') known.delete(call.toolCallId);
      else known.set(call.toolCallId, whole);
      if (!guard) return null;
      if (whole.status !== 'completed' || permitted.has(call.toolCallId) || ourTool(whole) !== null) return null;
      if (guard.verdict(callOf(whole)) === 'allow') return null;
      const message = `${name} used a tool of its own without asking (${whole.title ?? whole.kind ?? 'unnamed'}), which a policy does not allow. Configure it so that it asks for everything, or choose another provider.`;
      return { type: 'error', kind: 'invalid_request', message };
    },
  };
}

function present(call: ToolCall): ToolCall {
  const fields = Object.entries(call).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(fields) as ToolCall;
}
