import { allPages, type Client } from '../client/client.ts';
import type { Candidate } from '../command-line/complete.ts';
import { shortId } from '../core/short-id.ts';
import { shorten } from '../core/text.ts';
import { PROVIDER_NAMES } from '../providers/described.ts';

/** What Tab offers for the placeholders in commands, such as `<ref>`. */
export async function valuesFor(client: Client, placeholder: string): Promise<readonly Candidate[]> {
  switch (placeholder) {
    case 'ref':
    case 'agent':
    case 'participant':
      return (await collect((query) => client.listAgents(query))).map(({ handle, role }) => ({
        word: handle,
        about: role,
      }));
    case 'channel':
      return (await collect((query) => client.listChannels(query))).map(({ id, topic }) => ({
        word: id,
        about: topic,
      }));
    case 'workspace':
      return (await collect((query) => client.listWorkspaces(query))).map(({ name, path }) => ({
        word: name,
        about: path,
      }));
    case 'run':
      return (await client.listRuns({ limit: 50 })).items.map(({ id, agent, state }) => ({
        word: shortId(id),
        about: `${agent} ${state}`,
      }));
    case 'message':
      return (await client.listInbox({ limit: 50 })).items.map(({ messageId, from, text }) => ({
        word: shortId(messageId),
        about: shorten(`${from}: ${text}`),
      }));
    case 'question':
      return (await client.listQuestions({ limit: 50 })).items.map(({ id, agent, subject }) => ({
        word: shortId(id),
        about: shorten(`${agent}: ${subject}`),
      }));
    case 'provider':
      return PROVIDER_NAMES.map((word) => ({ word, about: '' }));
    case 'persona':
      return (await client.listPersonas()).agents.map(({ name, description }) => ({ word: name, about: description }));
    case 'node':
      return (await client.listNodes()).items.map(({ name, id }) => ({ word: name ?? id, about: '' }));
    default:
      return [];
  }
}

async function collect<T>(list: Parameters<typeof allPages<T>>[0]): Promise<T[]> {
  const items: T[] = [];
  for await (const item of allPages(list)) items.push(item);
  return items;
}
