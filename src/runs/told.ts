import type { ProviderEvent } from '../providers/provider.ts';

/** The provider events that are stored. */
export type Told = Exclude<ProviderEvent, { type: 'done' | 'error' | 'delta' | 'forgets' }>;

/**
 * Which side records a tool call: only the one that executes it. A call of our tools is recorded in the transaction
 * of its effect (`tools/call.ts`), so a program's report of it (`ours`) is dropped. The provider's report is the
 * record of its own tools' calls, and of a call of ours that the program rejected, because that never reached us. A
 * `delta` is not stored either: its text follows.
 */
export function isStored(event: ProviderEvent): event is Told {
  if (event.type === 'tool_call' || event.type === 'tool_result') return !event.ours;
  return !['delta', 'forgets', 'done', 'error'].includes(event.type);
}
