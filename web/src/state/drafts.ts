import { remembered } from './storage.ts';

/** What was typed in a place and not sent: kept in this browser until it is sent. */
export function draftOf(channelId: string, threadId: string | null) {
  return remembered(`draft:${placeOf(channelId, threadId)}`);
}

/** The name of a place where one writes. */
export function placeOf(channelId: string, threadId: string | null): string {
  return `${channelId}:${threadId ?? ''}`;
}
