import * as z from 'zod';
import type { OwnCall } from '../../core/own-tool.ts';
import { ownCall, ownChanges } from '../own-calls.ts';

const started = z.object({ item: z.looseObject({ type: z.string(), id: z.string() }) });
const question = z.looseObject({ itemId: z.string() });
const command = z.looseObject({ command: z.string(), kind: z.string().nullish() });
const changed = z.looseObject({ changes: z.array(z.unknown()).min(1) });

/** Reads what the program wants to do when it asks for an approval: the item that it has announced, or the question. */
export function createApprovals(workspace: string) {
  const items = new Map<string, unknown>();

  function read(method: string, params: unknown): OwnCall | null {
    const { data: asked } = question.safeParse(params);
    if (!asked) return null;
    const item = items.get(asked.itemId);
    if (method === 'item/commandExecution/requestApproval') {
      const data = command.safeParse(params).data ?? command.safeParse(item).data;
      if (!data) return null;
      // Input for a command that is running: no policy about that command's arguments is about it.
      if ((data.kind ?? 'command') !== 'command') return { kind: 'shell', input: { input_for: data.command } };
      return ownCall('shell', data, workspace);
    }
    if (method !== 'item/fileChange/requestApproval') return null;
    const { data } = changed.safeParse(item);
    return data ? ownChanges(data.changes, workspace) : null;
  }

  return {
    heard(method: string, params: unknown): void {
      const { data } = method === 'item/started' ? started.safeParse(params) : {};
      if (data) items.set(data.item.id, data.item);
    },
    /** Null if it cannot be judged; it is then refused. */
    read,
  };
}
