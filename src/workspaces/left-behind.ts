import { existsSync, readdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { removeTree } from '../core/remove-tree.ts';
import type { Wip } from '../core/wip.ts';
import type { Store } from '../store/store.ts';
import type { WorkspaceRules } from './access.ts';

/** In case that something in it was not pushed, such as ignored files. */
const KEEP_MS = 7 * 24 * 3_600_000;
const NAME = /^([0-9a-f-]{36})(?:\.(git|new|\d+|\d+\.new))?$/;
const LEFT = /^[0-9a-f-]{36}(?:\.(?:git|\d+))?\.left-(\d+)$/;

/**
 * Removes what git workspaces that moved to another node have left in this home: first renames it, and removes it after
 * a week. Only directories that the store says are of an earlier place of the workspace: a home that was copied, or whose
 * store was replaced, keeps all of its own. No link is followed.
 */
export async function clearLeftBehind(store: Store, rules: WorkspaceRules, now: number): Promise<void> {
  const root = dirname(rules.directory('any'));
  if (!existsSync(root)) return;
  const names = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  );
  for (const name of names) {
    const since = LEFT.exec(name)?.[1];
    if (since !== undefined && now - Number(since) > KEEP_MS) await removeTree(join(root, name));
  }
  const ours = Map.groupBy(
    names.filter((name) => NAME.test(name)),
    (name) => name.slice(0, 36),
  );
  for (const [id, present] of ours) {
    // Only git workspaces have more than one.
    if (!present.some((name) => name !== id)) continue;
    const { wip, inhabitants } = await store.read(async (tx) => ({
      wip: await tx.wips.getWip({ workspaceId: id }),
      inhabitants: await tx.workspaces.listInhabitants({ workspaceId: id }),
    }));
    if (!wip || inhabitants.some((agent) => rules.isLive(agent.id))) continue;
    for (const name of staleOf(wip, present)) renameSync(join(root, name), join(root, `${name}.left-${now}`));
  }
}

/** Directories of earlier places, and the daemon's repository if the workspace is not here any more. */
function staleOf({ workspaceId, moves }: Wip, present: readonly string[]): string[] {
  const placeOf = (name: string) => (name === workspaceId ? 0 : Number(name.slice(37)));
  // It is being restored here.
  if (present.some((name) => name.endsWith('.new') || placeOf(name) > moves)) return [];
  const old = present.filter((name) => placeOf(name) < moves);
  const isHere = present.some((name) => placeOf(name) === moves);
  const repository = present.filter((name) => name.endsWith('.git') && !isHere);
  return old.length === 0 ? [] : [...old, ...repository];
}
