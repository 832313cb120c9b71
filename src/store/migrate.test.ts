import { expect, onTestFinished, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { NEWEST_SCHEMA, refuseOtherNodes } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { POSTGRES_LIMITS } from './postgres-connection.ts';
import { PostgresConnections } from './postgres-connections.ts';
import { NODE } from './store.testkit.ts';

describeOnPostgres('the schema', () => {
  async function opened() {
    const database = await createDatabase();
    const store = await openPostgres(database);
    const connections = new PostgresConnections(database, POSTGRES_LIMITS, { info: () => {}, warn: () => {} });
    const connection = await connections.connect('migration');
    onTestFinished(async () => {
      connection.leave();
      await connections.close();
      await store.close();
      await database.drop();
    });
    return { url: database.url, store, execute: connection.execute };
  }

  test('is not changed while another node uses it, whatever its version', async () => {
    const { store, execute } = await opened();
    const refuse = async () => refuseOtherNodes(execute, NEWEST_SCHEMA, NEWEST_SCHEMA + 1);
    await refuse();
    await store.write((tx) => tx.nodes.registerNode({ ...NODE, name: 'old', version: '0.2.0' }));
    await expect(refuse()).rejects.toThrow(/other nodes use it: old on host \(Substrat 0\.2\.0\)\. Stop their daemons/);
    await store.write((tx) => tx.nodes.tryStopNode({ id: NODE.id, incarnation: 'incarnation', now: 1 }));
    await refuse();
    await store.write((tx) => tx.nodes.registerNode({ ...NODE, deadAfterMs: 0 }));
    await refuse();
  });

  test('that is too new is refused with both versions', async () => {
    const { url, store, execute } = await opened();
    await store.write((tx) => tx.nodes.registerNode({ ...NODE, version: '9.9.9' }));
    await execute('update schema_version set version = version + 1', []);
    await expect(openPostgres({ url })).rejects.toThrow(
      new RegExp(
        `version ${NEWEST_SCHEMA + 1}, made by Substrat 9\\.9\\.9; Substrat \\d.* supports up to ${NEWEST_SCHEMA}`,
      ),
    );
  });
});
