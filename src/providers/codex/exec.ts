import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { failed } from '../verdict.ts';
import { readItem } from './items.ts';

const count = z.number().int().nonnegative().catch(0);
const usage = z.object({ input_tokens: count, output_tokens: count });
const item = z.looseObject({ type: z.string(), id: z.string() });
const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('thread.started'), thread_id: z.string() }),
  z.object({ type: z.literal('turn.started') }),
  z.object({ type: z.literal('item.started'), item }),
  z.object({ type: z.literal('item.completed'), item }),
  z.object({ type: z.literal('turn.completed'), usage }),
  z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
]);

type Event = z.infer<typeof event>;
type Tokens = z.infer<typeof usage>;

/** The words of the app server for the same items. */
const TYPES: Readonly<Record<string, string>> = {
  mcp_tool_call: 'mcpToolCall',
  command_execution: 'commandExecution',
  file_change: 'fileChange',
};
/** Not calls of tools; `error` is a warning, too. */
const SILENT = ['agent_message', 'reasoning', 'todo_list', 'error'];

/** The arguments of a turn without the app server; the prompt is its stdin. */
export function execArguments(settings: readonly string[], session: string | null): string[] {
  const resume = session === null ? [] : ['resume'];
  return [
    'exec',
    ...resume,
    '--json',
    '--skip-git-repo-check',
    ...settings,
    ...(session === null ? [] : [session]),
    '-',
  ];
}

/** Parses the lines of `codex exec --json`. `totals` has what each thread has used: its reports are sums over all turns. */
export function createExecParser(resumed: string | null, totals: Map<string, Tokens>) {
  let thread = resumed ?? '';
  let text = '';

  function said(line: Event): Said[] {
    switch (line.type) {
      case 'thread.started':
        thread = line.thread_id;
        return [];
      case 'turn.started':
        return [{ type: 'session', session: thread }];
      case 'item.started':
      case 'item.completed': {
        const isComplete = line.type === 'item.completed';
        if (!SILENT.includes(line.item.type)) return readItem(translated(line.item), isComplete);
        if (line.item.type !== 'agent_message' || !isComplete) return [];
        text = cleanText(`${line.item.text ?? ''}`);
        return [{ type: 'text', text }];
      }
      case 'turn.completed':
        return [...used(line.usage), { type: 'done', text }];
      case 'turn.failed':
        return [failed(cleanText(line.error.message))];
    }
  }

  function used(total: Tokens): Said[] {
    const before = totals.get(thread) ?? (resumed === null ? { input_tokens: 0, output_tokens: 0 } : null);
    totals.set(thread, total);
    // After a restart of the daemon, the share of this turn is unknown.
    if (before === null) return [];
    const inputTokens = Math.max(0, total.input_tokens - before.input_tokens);
    const outputTokens = Math.max(0, total.output_tokens - before.output_tokens);
    return inputTokens + outputTokens > 0 ? [{ type: 'usage', inputTokens, outputTokens }] : [];
  }

  return (line: string): Said[] => {
    const read = readEvent(event, line);
    return read ? said(read) : [];
  };
}

function translated({ type, aggregated_output, exit_code, ...rest }: z.infer<typeof item>) {
  return { ...rest, type: TYPES[type] ?? type, aggregatedOutput: aggregated_output, exitCode: exit_code };
}
