import { remembered } from './storage.ts';

/** What was typed in a place and not sent: kept in this browser until it is sent. */
export function draftOf(channelId: string, threadId: string | null) {
  return remembered(`draft:${placeOf(channelId, threadId)}`);
}

/**
 * The Idempotency-Key that this draft was last sent with: a page that was reloaded before the answer came sends it again
 * with the same key, so that it is there once. A draft that changed has none.
 */
export function keyOfDraft(channelId: string, threadId: string | null) {
  return remembered(`key:${placeOf(channelId, threadId)}`);
}

/** The name of a place where one writes. */
export function placeOf(channelId: string, threadId: string | null): string {
  return `${channelId}:${threadId ?? ''}`;
}
