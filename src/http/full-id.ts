import { SubstratError } from '../core/errors.ts';
import { isIdEnding, onlyIdEnding } from '../core/short-id.ts';
import { visibleMessage } from '../messaging/reactions.ts';
import type { IdKind, Tx } from '../store/store.ts';

/** The id that a person gave by its last 6 or more characters; anything else is returned as it is. */
export async function fullId(tx: Tx, kind: Exclude<IdKind, 'messages'>, given: string): Promise<string> {
  if (!isIdEnding(given)) return given;
  const ids = await tx.ids.listIdsEnding({ kind, ending: given });
  return onlyIdEnding(kind.slice(0, -1), given, ids) ?? given;
}

/** The same for a message. Messages that the caller cannot see are not candidates. */
export async function fullMessageId(tx: Tx, callerId: string, given: string): Promise<string> {
  if (!isIdEnding(given)) return given;
  const visible: string[] = [];
  for (const id of await tx.ids.listIdsEnding({ kind: 'messages', ending: given })) {
    if (await sees(tx, callerId, id)) visible.push(id);
  }
  return onlyIdEnding('message', given, visible) ?? given;
}

async function sees(tx: Tx, callerId: string, id: string): Promise<boolean> {
  try {
    await visibleMessage(tx, callerId, id);
    return true;
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'not_found') return false;
    throw error;
  }
}
