import { closeSync } from 'node:fs';
import { attachmentPath } from '../core/attachment.ts';
import { openWithoutLinks } from '../core/nofollow.ts';
import { replaceInHome } from '../providers/agent-home.ts';
import type { Store } from '../store/store.ts';

/**
 * Puts the files of the messages that a run carries into the workspace, before its turn begins. Agents can write there:
 * the workspace is opened without following links and held open, and a link in the place of one of our directories is
 * replaced.
 */
export async function placeAttachments(store: Store, runId: string, workspace: string): Promise<void> {
  const attached = await store.read((tx) => tx.attachments.listCarriedAttachments({ runId }));
  if (attached.length === 0) return;
  const held = openWithoutLinks('/', workspace);
  try {
    const here = `/proc/self/fd/${held}/.`;
    // Not for the repository that the workspace may be.
    replaceInHome(here, '.substrat/.gitignore', '*\n');
    for (const one of attached) {
      const file = await store.read((tx) => tx.attachments.getFile({ hash: one.hash }));
      if (file) replaceInHome(here, attachmentPath(one), file.bytes);
    }
  } finally {
    closeSync(held);
  }
}
