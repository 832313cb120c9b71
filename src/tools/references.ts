import { normalize } from 'node:path';
import { type Agent, keyOf, USER_ID } from '../core/agent.ts';
import type { Channel } from '../core/channel.ts';
import { type SubstratError, toSubstratError } from '../core/errors.ts';
import type { Meanings, Meant } from '../core/policy.ts';
import type { Arguments } from '../core/question.ts';
import { findDocument } from '../knowledge/knowledge.ts';
import { findDm, otherSide, ownDm, resolveChannel, type Side } from '../messaging/channels.ts';
import { childNamed } from '../messaging/children.ts';
import { resolveRecipient } from '../messaging/route.ts';
import type { Tx } from '../store/store.ts';
import { findWorkspace, sourceOf } from '../workspaces/access.ts';

/** Who refers to something. */
export interface Scene {
  readonly tx: Tx;
  readonly agent: Agent;
  readonly defaultProvider: string | null;
}

/** What one argument refers to. */
export interface Reference extends Meant {
  /** The same for every spelling; a digest is computed from it. */
  readonly canonical: string;
  /** What the tool itself says about a reference that leads nowhere. */
  readonly problem?: SubstratError;
}

/** Resolves an argument as its tool does. */
export type Refer = (scene: Scene, value: string) => Promise<Reference>;

/** What the arguments of a call refer to, by the name of the argument. */
export type Refers = (scene: Scene, input: Arguments) => Promise<Readonly<Record<string, Reference>>>;

export interface Referred {
  readonly meanings: Meanings;
  /** The arguments with one form for each reference. */
  readonly canonical: Arguments;
  /** Why the tool will refuse the call. */
  readonly problem: SubstratError | null;
}

/** Of an agent below others that were often renamed. */
const MOST_PATHS = 100;

/** What policies and digests see of a call's arguments. People see them as written. */
export async function readReferences(scene: Scene, input: Arguments, refers: Refers = asWritten): Promise<Referred> {
  const meanings = await refers(scene, input);
  const canonical = Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, Object.hasOwn(meanings, key) ? meanings[key]?.canonical : value]),
  );
  const problem = Object.values(meanings).find((one) => one.problem)?.problem ?? null;
  return { meanings, canonical, problem };
}

const asWritten: Refers = async () => ({});

/** For tools whose references are each an argument of their own. */
export function referring(kinds: Readonly<Record<string, Refer>>): Refers {
  return async (scene, input) => {
    const found: Record<string, Reference> = {};
    for (const [key, refer] of Object.entries(kinds)) {
      const value = (input as Readonly<Record<string, unknown>>)[key];
      if (typeof value === 'string') found[key] = await known(refer, scene, value);
    }
    return found;
  };
}

/** A name that is matched without regard to case, and that need not exist yet. */
export const name: Refer = async (_, value) => ({ spellings: [value], canonical: keyOf(value) });

/** A path inside a workspace. */
export const inside: Refer = async (_, value) => {
  const path = normalize(value).replace(/(?<=.)\/$/, '');
  return { spellings: [path], canonical: path, cased: true };
};

/** A directory that is linked. */
export const directory: Refer = async ({ agent }, value) => {
  const path = sourceOf({ id: agent.id, agent }, value);
  return { spellings: [path], canonical: path, cased: true };
};

export const workspace: Refer = async ({ tx, agent }, value) => {
  const found = await findWorkspace(tx, { id: agent.id, agent }, value);
  return { spellings: [found.name, found.id], canonical: `workspace ${found.id}` };
};

export const knownDocument: Refer = async ({ tx }, value) => {
  const found = await findDocument(tx, value);
  if (!found) return { spellings: [value], canonical: value, unknown: true };
  return { spellings: [found.id, found.sourceId], canonical: `document ${found.id}`, cased: true };
};

export const child: Refer = async ({ tx, agent }, value) => agentMeant(tx, await childNamed(tx, agent, value));

export const neighbour: Refer = async ({ tx, agent }, value) =>
  participantMeant(tx, await recipientOf(tx, agent, value));

export const channel: Refer = async ({ tx, agent }, value) => (await channelMeant(tx, agent, value)).channelId;

/** A message goes to somebody by `recipient` or by the `channelId` of their DM: policies about either hold for both. */
export const addressed: Refers = async (scene, input) => {
  const { tx, agent } = scene;
  const { recipient, channelId } = input as { readonly recipient?: string; readonly channelId?: string };
  if (channelId !== undefined) {
    try {
      const { other, ...meant } = await channelMeant(tx, agent, channelId);
      return { ...meant, ...(other && { recipient: await participantMeant(tx, other) }) };
    } catch (error) {
      const unknown = nowhere(channelId, error);
      return { channelId: unknown, recipient: unknown };
    }
  }
  if (recipient === undefined) return {};
  try {
    const to = await recipientOf(tx, agent, recipient);
    return { recipient: await participantMeant(tx, to), channelId: dmMeant(agent, to, await findDm(tx, agent, to)) };
  } catch (error) {
    const unknown = nowhere(recipient, error);
    return { recipient: unknown, channelId: unknown };
  }
};

async function known(refer: Refer, scene: Scene, value: string): Promise<Reference> {
  try {
    return await refer(scene, value);
  } catch (error) {
    return nowhere(value, error);
  }
}

/** Only what the tool would refuse for the same reason; a store that fails is not a wrong name. */
function nowhere(value: string, error: unknown): Reference {
  const problem = toSubstratError(error);
  if (!['not_found', 'forbidden', 'conflict', 'bad_request'].includes(problem.code)) throw error;
  return { spellings: [value], canonical: value, unknown: true, problem };
}

async function recipientOf(tx: Tx, agent: Agent, value: string): Promise<Side> {
  const { id, handle } = await resolveRecipient(tx, agent, value);
  return { id, handle };
}

async function channelMeant(
  tx: Tx,
  agent: Agent,
  value: string,
): Promise<{ readonly channelId: Reference; readonly other: Side | null }> {
  const dm = /^dm-/i.test(value) ? await ownDm(tx, agent, keyOf(value)) : null;
  if (dm) {
    const other = 'other' in dm ? dm.other : await otherSide(tx, dm.dm, agent.id);
    return { channelId: dmMeant(agent, other, 'dm' in dm ? dm.dm : null), other };
  }
  const { id } = await resolveChannel(tx, agent, value, null);
  return { channelId: { spellings: [id], canonical: `channel ${id}` }, other: null };
}

function dmMeant(agent: Side, other: Side, dm: Channel | null): Reference {
  const spellings = [`dm-${agent.handle}-${other.handle}`, `dm-${other.handle}-${agent.handle}`];
  return { spellings: dm ? [dm.id, ...spellings] : spellings, canonical: `dm with ${other.id}` };
}

async function participantMeant(tx: Tx, { id, handle }: Side): Promise<Reference> {
  const agent = id === USER_ID ? null : await tx.agents.getAgent({ id });
  return agent ? agentMeant(tx, agent) : { spellings: [handle, id], canonical: `person ${id}` };
}

async function agentMeant(tx: Tx, agent: Agent): Promise<Reference> {
  const names = await namesOf(tx, agent);
  let paths = names;
  for (const above of await tx.agents.listAncestors({ id: agent.id })) {
    const before = await namesOf(tx, above);
    paths = paths.flatMap((path) => before.map((one) => `${one}/${path}`)).slice(0, MOST_PATHS);
  }
  return { spellings: [...names, agent.handle, agent.id, ...paths], canonical: `agent ${agent.id}` };
}

/** What it is called, and was. */
async function namesOf(tx: Tx, { id: agentId, name: now, revision }: Agent): Promise<string[]> {
  const former = revision === 1 ? [] : await tx.settings.listFormerNames({ agentId });
  return [now, ...former.map(({ nameKey }) => nameKey)];
}
