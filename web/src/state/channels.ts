import { signal } from '@preact/signals';
import { allPages, type Channel, type SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';
import { api, me } from './session.ts';

/** The channels that one sees, by id. */
export const channels = signal<ReadonlyMap<string, Channel>>(new Map());
export const channelsLoaded = signal(false);

/** The channel whose newest messages are on the screen: what comes there is read. */
export const reading = signal<string | null>(null);

export function startChannels(): () => void {
  const stops = [onReread(() => void readAll()), onEvent(take)];
  return () => {
    for (const stop of stops) stop();
  };
}

export async function markRead(id: string): Promise<void> {
  if ((channels.peek().get(id)?.unread ?? 0) === 0) return;
  put(await api.markRead(id));
}

async function readAll(): Promise<void> {
  const found = new Map<string, Channel>();
  for await (const channel of allPages((query) => api.listChannels(query))) found.set(channel.id, channel);
  channels.value = found;
  channelsLoaded.value = true;
}

function take(event: SubstratEvent): void {
  if (event.type === 'message_created') {
    const { channelId, from } = event.data.message;
    const known = channels.peek().get(channelId);
    if (!known) return void readOne(channelId);
    if (!known.member || from === me.peek() || reading.peek() === channelId) return;
    put({ ...known, unread: known.unread + 1 });
    return;
  }
  if (event.type === 'channel_deleted') void readOne(event.data.channelId);
  if (event.type === 'channel_created' || event.type === 'channel_updated') void readOne(event.data.channelId);
  if (event.type === 'member_joined' || event.type === 'member_left') void readOne(event.data.channelId);
  // An unread message is no longer there: only the daemon knows whether it counted.
  if (event.type === 'message_deleted') void readOne(event.data.channelId);
}

async function readOne(id: string): Promise<void> {
  try {
    put(await api.getChannel(id));
  } catch {
    const rest = new Map(channels.peek());
    if (rest.delete(id)) channels.value = rest;
  }
}

function put(channel: Channel): void {
  channels.value = new Map(channels.peek()).set(channel.id, channel);
}

/** "#payments", or "@ben" for a DM. */
export function titleOfChannel(id: string | null): string {
  const channel = channels.value.get(id ?? '');
  return channel ? `${channel.kind === 'dm' ? '@' : '#'}${nameOf(channel, me.value)}` : (id ?? '');
}

/** The other side of a DM with oneself in it; both names of a DM between others. */
export function nameOf({ id, kind }: Pick<Channel, 'id' | 'kind'>, self: string): string {
  if (kind !== 'dm') return id;
  const pair = id.replace(/^dm-/, '');
  if (pair.endsWith(`-${self}`)) return pair.slice(0, -self.length - 1);
  if (pair.startsWith(`${self}-`)) return pair.slice(self.length + 1);
  return pair.replace('-', ', ');
}
