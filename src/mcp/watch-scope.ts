import { sameScope } from '../core/scope.ts';
import { type ActiveAttempt, scopeNow } from '../runs/attempt.ts';
import type { ToolDependencies } from '../tools/call.ts';

/** Scopes rarely change and every call is checked anyway, so checking once a second is enough. */
const LOOK_MS = 1000;

/** Calls `onChange` when what an attempt may list and call has changed, until the returned function is called. */
export function watchScope(
  { store }: Pick<ToolDependencies, 'store'>,
  attempt: ActiveAttempt,
  onChange: () => void,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  let known = attempt.widest;
  const look = async () => {
    timer = null;
    // If the store is unavailable, it is read again after the next change.
    const scope = await store.read((tx) => scopeNow(tx, attempt)).catch(() => known);
    if (sameScope(scope, known)) return;
    known = scope;
    onChange();
  };
  const unfollow = store.onChange(() => {
    timer ??= setTimeout(() => void look(), LOOK_MS).unref();
  });
  return () => {
    unfollow();
    if (timer) clearTimeout(timer);
  };
}
