import { randomUUID } from 'node:crypto';
import { SubstratError } from '../../../src/core/errors.ts';
import { unlessDead, untilDone } from '../patience.ts';
import { queryStore } from '../query-store.ts';
import { type CreateCompanion, SIDE } from './companion.ts';

const LABEL = 'chaos';
const WRITERS = 2;

/**
 * Writers that change one block with `If-Match`: every acknowledged change is in its history once, based on the
 * version its writer saw.
 */
export const createMemory: CreateCompanion = (daemon) => {
  const acknowledged: string[] = [];

  /** Null: the daemon died before it responded, so the change may exist or not. */
  const change = (text: string, ifVersion: number) =>
    unlessDead(() =>
      daemon.client.setBlock('win', LABEL, text, { ifVersion }).catch((error) => {
        if (error instanceof SubstratError && error.code === 'precondition_failed') return null;
        throw error;
      }),
    );

  return {
    async work(more) {
      const write = async (): Promise<void> => {
        while (more()) {
          const version = await untilDone(daemon, async () => {
            const { items } = await daemon.client.listBlocks('win');
            return items.find(({ label }) => label === LABEL)?.version ?? 0;
          });
          const text = `${SIDE}${randomUUID()} after ${version}`;
          if (await change(text, version)) acknowledged.push(text);
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, write));
    },
    async faults() {
      const changes = queryStore<{ text: string; version: number }>(
        daemon.home,
        `select text, version from block_changes where text like '${SIDE}%' order by version`,
      );
      const times = (text: string) => changes.filter((one) => one.text === text).length;
      return [
        ...(acknowledged.length === 0 ? ['no block was changed'] : []),
        ...acknowledged
          .filter((text) => times(text) !== 1)
          .map((text) => `"${text}" is ${times(text)} times in history`),
        ...changes
          .filter(({ text, version }, n) => version !== n + 1 || !text.endsWith(` after ${n}`))
          .map(({ text, version }) => `version ${version} is "${text}"`),
      ];
    },
  };
};
