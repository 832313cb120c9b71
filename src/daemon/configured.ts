import type { Personas } from '../personas/personas.ts';
import { createChannels } from './channels.ts';
import { createMembers, type MemberMaking, type Members } from './members.ts';
import type { Node, Stored } from './node.ts';

interface Making extends MemberMaking, Pick<Node, 'log'> {
  readonly stored: Stored;
  readonly personas: () => Promise<Personas>;
}

export interface Configured {
  /** Stops following the personas. Resolves when the work in progress has ended. */
  close(): Promise<void>;
}

/**
 * Creates the configured agents and channels. Agents whose persona cannot be used are created when the personas
 * change, or at the next start.
 */
export async function createConfigured(making: Making): Promise<Configured> {
  const { log } = making;
  const make = async (stored: Stored) => {
    const members = await createMembers(making, stored);
    await createChannels(making, members, stored);
    return members;
  };
  // Without retries: the start fails if the store fails.
  let { missing } = await make((work) => work());
  if (missing.size === 0) return { close: async () => {} };
  for (const warning of warningsOf(missing)) log.warn({}, warning);
  let work = Promise.resolve();
  const again = () => {
    work = work.then(async () => {
      if (missing.size === 0) return;
      try {
        const before = missing;
        ({ missing } = await make(making.stored));
        for (const [key, { name }] of before) {
          if (!missing.has(key)) log.info({}, `Created [members.${name}].`);
        }
      } catch (error) {
        log.warn({}, `The configured members could not be created: ${(error as Error).message}`);
      }
    });
  };
  const unfollow = (await making.personas()).onChange(again);
  // A persona may have been fixed before the listener was added.
  again();
  return {
    close: async () => {
      unfollow();
      await work;
    },
  };
}

function warningsOf(missing: Members['missing']): string[] {
  const groups = Map.groupBy(missing.values(), ({ because }) => because);
  return [...groups].map(([because, [first, ...below]]) => {
    const nor =
      below.length === 0 ? '' : ` Its descendants are not created either: ${below.map(({ name }) => name).join(', ')}.`;
    return `[members.${because}] is not created until this is fixed: ${first?.problem}${nor}`;
  });
}
