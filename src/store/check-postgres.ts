import { NEWEST_SCHEMA } from './migrate.ts';
import { connectAlone } from './postgres-connection.ts';

export interface PostgresCheck {
  /** The server's version, such as `17.2`. */
  readonly server: string;
  /** 0 if no daemon has used it yet. */
  readonly version: number;
  readonly newest: number;
}

/** Inspects a PostgreSQL store without changing it. Throws with the code `store` if it cannot be reached. */
export async function checkPostgres(url: string): Promise<PostgresCheck> {
  const connection = await connectAlone({ url }, 'probe');
  try {
    const { rows } = await connection.execute(
      "select current_setting('server_version') as server, to_regclass('schema_version') is not null as used",
      [],
    );
    const { server, used } = rows[0] as { server: string; used: boolean };
    const versions = used ? (await connection.execute('select version from schema_version', [])).rows : [];
    const version = (versions[0] as { version: number } | undefined)?.version ?? 0;
    return { server, version, newest: NEWEST_SCHEMA };
  } finally {
    connection.leave();
  }
}
