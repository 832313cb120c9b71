import type { ProviderEvent } from '../providers/provider.ts';

/** What a provider tells during a turn and is stored. */
export type Told = Exclude<ProviderEvent, { type: 'done' | 'error' | 'delta' }>;

/**
 * Who records a call of a tool: the side that executes it, and nobody else. A call of our tools is recorded in the
 * transaction of its effect (`tools/call.ts`), so the report of a program that tells of it too (`ours`) is dropped. The
 * provider's report is the record of its own tools' calls, and of a call of ours that the program rejected: it never came to us.
 * A `delta` is not stored either: its text follows.
 */
export function isStored(event: ProviderEvent): event is Told {
  if (event.type === 'tool_call' || event.type === 'tool_result') return !event.ours;
  return event.type !== 'delta' && event.type !== 'done' && event.type !== 'error';
}
