import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runSubstrat } from '../../helpers/substrat.ts';
import { queryStore } from '../query-store.ts';
import type { CreateCompanion } from './companion.ts';

/**
 * Backups under load. Each succeeds, and the last one restores to a valid store with everything that existed when it
 * started.
 */
export const createBackups: CreateCompanion = (daemon, random) => {
  const config = ['--config', join(daemon.directory, 'substrat.toml')];
  const file = (n: number) => join(daemon.directory, `backup-${n}.tar.gz`);
  const failures: string[] = [];
  let last: { readonly n: number; readonly known: readonly string[] } | null = null;

  const run = async (home: string, ...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await runSubstrat([...args, ...config], { home, cwd: daemon.directory });
    if (code !== 0) failures.push(`substrat ${args[0]} ended with ${code}: ${stderr}`);
  };

  return {
    async work(more) {
      for (let n = 1; more(); n += 1) {
        const known = messagesIn(daemon.home);
        await run(daemon.home, 'backup', file(n));
        if (last !== null) rmSync(file(last.n), { force: true });
        last = { n, known };
        await sleep(2000 + random() * 2000);
      }
    },
    async faults() {
      if (last === null) return ['no backup was made'];
      const home = join(daemon.directory, 'restored');
      mkdirSync(home, { mode: 0o700 });
      await run(home, 'restore', file(last.n));
      if (failures.length > 0) return failures;
      const restored = new Set(messagesIn(home));
      const damaged = ['integrity_check', 'foreign_key_check'].flatMap((check) =>
        queryStore<object>(home, `select * from pragma_${check}`).filter((row) => !Object.values(row).includes('ok')),
      );
      return [
        ...last.known.filter((id) => !restored.has(id)).map((id) => `the backup lacks message ${id}`),
        ...damaged.map((row) => `the restored store is damaged: ${JSON.stringify(row)}`),
      ];
    },
  };
};

function messagesIn(home: string): string[] {
  return queryStore<{ id: string }>(home, 'select id from messages').map(({ id }) => id);
}
