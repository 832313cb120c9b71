import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { keyOf, USER_ID } from '../core/agent.ts';
import { writeBlock } from '../memory/blocks.ts';
import type { AgentView } from '../store/store.ts';
import type { Daemon } from './daemon.ts';

type Member = Config['members'][number];

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
    const agent = existing ?? (await create(daemon, member, parentId));
    ids.set(nameKey, agent.id);
  }
}

/** With the memory that it begins with. */
async function create(daemon: Daemon, member: Member, parent: string | null): Promise<AgentView> {
  const { instructionsFile, blocks, ...rest } = member;
  const instructions = instructionsFile ? await readFile(instructionsFile, 'utf8') : (member.instructions ?? '');
  const agent = await daemon.addAgent({ ...rest, parent, worktree: false, instructions });
  await daemon.store.write(async (tx) => {
    for (const [label, text] of Object.entries(blocks)) {
      await writeBlock(tx, { readerId: agent.id, label, by: USER_ID, expected: null }, text, daemon.clock());
    }
  });
  return agent;
}
