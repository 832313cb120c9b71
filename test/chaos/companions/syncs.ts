import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ctxLauncher } from '../../helpers/ctx.ts';
import { runSubstrat, start } from '../../helpers/substrat.ts';
import { queryStore } from '../query-store.ts';
import type { CreateCompanion } from './companion.ts';

const FILES = 8;

/** `ctx sync` on the daemon's store; a quarter of the syncs are killed. The last one completes the index. */
export const createSyncs: CreateCompanion = (daemon, random) => {
  const documents = join(daemon.directory, 'documents');
  const config = join(daemon.directory, 'substrat.toml');
  const texts = new Map<string, string>();
  const where = { home: daemon.home, cwd: daemon.directory, program: ctxLauncher };
  const args = ['sync', '--config', config];
  const failures: string[] = [];

  const change = (round: number): void => {
    const name = `${Math.floor(random() * FILES)}.md`;
    texts.set(name, `# File ${name}\n\nText of round ${round}.\n`);
    writeFileSync(join(documents, name), texts.get(name) as string);
  };
  const sync = async (): Promise<void> => {
    const { code, stderr } = await runSubstrat(args, where);
    if (code !== 0) failures.push(`ctx sync ended with ${code}: ${stderr}`);
  };

  return {
    async work(more) {
      for (let round = 1; more(); round += 1) {
        change(round);
        if (random() < 0.25) {
          const child = start(args, where);
          await sleep(random() * 600);
          child.kill('SIGKILL');
        } else {
          await sync();
        }
        await sleep(1000 + random() * 1000);
      }
    },
    settle: sync,
    async faults() {
      const rows = queryStore<{ path: string; body: string }>(
        daemon.home,
        'select source_id as path, body from documents',
      );
      const found = new Map(rows.map(({ path, body }) => [path, body]));
      const wrong = [...texts].filter(([name, text]) => found.get(name)?.trim() !== text.trim());
      return [
        ...failures,
        ...wrong.map(([name]) => `the index has not the last text of ${name}`),
        ...(rows.length === texts.size ? [] : [`${rows.length} documents are indexed, there are ${texts.size}`]),
      ];
    },
  };
};
