import { remembered } from './storage.ts';

/** What was typed in a place and not sent: kept in this browser until it is sent. */
export function draftOf(channelId: string, threadId: string | null) {
  return remembered(`draft:${channelId}:${threadId ?? ''}`);
}
