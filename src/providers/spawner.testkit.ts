import { until } from '../../test/helpers/until.ts';
import { Spawner } from './spawner.ts';

/** With its helper running. */
export async function readySpawner(path: string): Promise<Spawner> {
  const spawner = new Spawner({ path });
  await untilReady(spawner);
  return spawner;
}

/** A new helper starts with the next program, which the caller starts itself. */
export async function untilReady(spawner: Spawner): Promise<void> {
  const nothing = { file: 'true', args: [], cwd: '/', env: { PATH: process.env.PATH ?? '' } };
  await until('the helper is ready', async () => {
    const program = await spawner.start(nothing);
    await program?.exited;
    program?.close();
    return program !== null;
  });
}
