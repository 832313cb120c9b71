import { readFile } from 'node:fs/promises';
import { keyOf } from '../core/agent.ts';
import type { Daemon } from './daemon.ts';

/** `[members.*]`: agents that exist from the start. One that exists stays as it is; parents come before their children. */
export async function createMembers(daemon: Daemon): Promise<void> {
  const ids = new Map<string, string>();
  for (const member of daemon.config.members) {
    const parentId = member.parent === null ? null : (ids.get(keyOf(member.parent)) as string);
    const nameKey = keyOf(member.name);
    const existing = await daemon.store.read(async (tx) =>
      parentId === null
        ? tx.getRootByName({ nameKey })
        : ((await tx.listChildren({ id: parentId })).find((child) => child.name_key === nameKey) ?? null),
    );
    const agent =
      existing ??
      (await daemon.addAgent({
        ...member,
        parent: parentId,
        worktree: false,
        instructions: member.instructionsFile
          ? await readFile(member.instructionsFile, 'utf8')
          : (member.instructions ?? ''),
      }));
    ids.set(nameKey, agent.id);
  }
}
