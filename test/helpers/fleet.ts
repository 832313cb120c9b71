import { onTestFinished } from 'vitest';
import { type DaemonSetup, startDaemon, type TestDaemon } from './daemon.ts';
import { createDatabase } from './postgres.ts';

/** Real daemons on one PostgreSQL, by the names of their nodes. They are stopped when the test is over. */
export async function startFleet<Name extends string>(
  names: readonly Name[],
  setup: (name: Name) => DaemonSetup = () => ({}),
): Promise<Record<Name, TestDaemon> & { readonly url: string }> {
  const database = await createDatabase();
  const started: TestDaemon[] = [];
  onTestFinished(async () => {
    for (const daemon of started) await daemon.stop();
    await database.drop();
  });
  const nodes: [Name, TestDaemon][] = [];
  for (const name of names) {
    const { config = '', ...rest } = setup(name);
    const named = config.includes('[node]')
      ? config.replace('[node]', `[node]\nname = "${name}"`)
      : `${config}\n[node]\nname = "${name}"\n`;
    const daemon = await startDaemon({ ...rest, config: named, database: database.url });
    started.push(daemon);
    nodes.push([name, daemon]);
  }
  return { ...(Object.fromEntries(nodes) as Record<Name, TestDaemon>), url: database.url };
}
