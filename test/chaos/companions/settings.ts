import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SubstratError } from '../../../src/core/errors.ts';
import { unlessDead, untilDone } from '../patience.ts';
import { queryStore } from '../query-store.ts';
import { type CreateCompanion, SIDE } from './companion.ts';

/** A member of the team, in the middle of its work. */
const BUSY = 'fay';
/** An agent without work, which gets new names. */
const RENAMED = 'sam';

/**
 * A person who changes settings with `If-Match`, pauses and resumes an agent that works, renames another, and applies
 * the configuration: every acknowledged change is in the history once, each revision follows the one before, and the
 * team's work comes to the same end.
 */
export const createSettings: CreateCompanion = (daemon, random) => {
  const acknowledged: string[] = [];
  const { client } = daemon;

  /** Null: the daemon died, or it had been done by a daemon that died before it responded. */
  const unlessDone = <T>(action: () => Promise<T>) =>
    unlessDead(() =>
      action().catch((error) => {
        if (error instanceof SubstratError && ['precondition_failed', 'conflict'].includes(error.code)) return null;
        throw error;
      }),
    );
  const resume = () =>
    untilDone(daemon, async () => {
      if ((await client.getAgent(BUSY)).paused === null) return true;
      await unlessDone(() => client.resumeAgent(BUSY));
      return null;
    });

  return {
    async work(more) {
      await untilDone(daemon, async () => {
        const { items } = await client.listAgents();
        if (items.some(({ handle }) => handle === RENAMED)) return true;
        await client.createAgent({ name: RENAMED, provider: 'external' });
        return null;
      });
      while (more()) {
        const { revision } = await untilDone(daemon, () => client.getAgent(BUSY));
        const role = `${SIDE}${randomUUID()}`;
        const now = random() < 0.3;
        const changed = await unlessDone(() => client.changeAgent(BUSY, { role }, { ifRevision: revision, now }));
        if (changed) acknowledged.push(role);
        await unlessDone(() => client.pauseAgent(BUSY, { reason: 'chaos', now: random() < 0.5 }));
        await unlessDone(() =>
          client.renameAgent(RENAMED, `${RENAMED}-${Math.floor(random() * 1e6)}`).catch(() => null),
        );
        await unlessDone(() => client.apply());
        await resume();
        await sleep(50);
      }
      await resume();
    },
    /** The audit knows only the team. */
    async settle() {
      await untilDone(daemon, async () => {
        await unlessDone(() => client.terminateAgent(RENAMED));
        return (await client.getAgent(RENAMED)).state === 'terminated' ? true : null;
      });
    },
    async faults() {
      const rows = queryStore<{ role: string; revision: number }>(
        daemon.home,
        `select json_extract(settings, '$.role') as role, revision from agent_settings
          where agent_id = (select id from agents where handle = '${BUSY}') order by revision`,
      );
      const times = (role: string) => rows.filter((one) => one.role === role).length;
      const names = queryStore<{ n: number }>(
        daemon.home,
        `select count(*) as n from agents where handle = '${RENAMED}' and revision > 1`,
      );
      return [
        ...(acknowledged.length === 0 ? ['no setting was changed'] : []),
        ...(names[0]?.n === 1 ? [] : [`${RENAMED} was never renamed`]),
        ...acknowledged
          .filter((role) => times(role) !== 1)
          .map((role) => `"${role}" is ${times(role)} times in history`),
        ...rows
          .filter(({ revision }, n) => revision !== n + 1)
          .map(({ revision }) => `revision ${revision} is not in order`),
      ];
    },
  };
};
