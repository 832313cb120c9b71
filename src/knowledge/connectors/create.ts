import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Connector } from '../connector.ts';

/** A configured source and how to open it. Connectors are loaded on first use. */
export interface ConfiguredSource {
  /** `type:name`. */
  readonly name: string;
  readonly watch: boolean;
  readonly open: () => Promise<Connector>;
}

interface Surroundings {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory that file sources must not leave; null for no restriction. */
  readonly within: string | null;
  /** Opens a script connector. Injected, because only the caller can run scripts. */
  readonly openScript: (source: string, settings: Readonly<Record<string, unknown>>) => Promise<Connector>;
}

const MEGABYTE = 1024 * 1024;

/** The sources of a configuration, `type:name`. */
export function sourceNames({ connectors }: Pick<Config, 'connectors'>): string[] {
  return Object.entries(connectors).flatMap(([type, named]) => Object.keys(named).map((name) => `${type}:${name}`));
}

export function configuredSources(
  { connectors, db }: Pick<Config, 'connectors' | 'db'>,
  around: Surroundings,
): ConfiguredSource[] {
  const { home, env, within, openScript } = around;
  const sources: ConfiguredSource[] = [];
  const add = (type: string, name: string, open: (source: string) => Promise<Connector>, watch = false) =>
    sources.push({ name: `${type}:${name}`, watch, open: () => open(`${type}:${name}`) });

  for (const [name, { maxFileMb, watch, ...options }] of Object.entries(connectors.filesystem)) {
    const open = async (source: string) => {
      const { filesystemConnector } = await import('./filesystem.ts');
      const own = ['path' in db ? db.path : null, home];
      return filesystemConnector({ ...options, source, within, own, maxBytes: maxFileMb * MEGABYTE });
    };
    add('filesystem', name, open, watch);
  }
  for (const [name, { maxFileMb, ...options }] of Object.entries(connectors.git)) {
    add('git', name, async (source) => {
      const { gitConnector } = await import('./git.ts');
      const directory = join(home, 'sources', 'git', name);
      return gitConnector({ ...options, source, directory, maxBytes: maxFileMb * MEGABYTE });
    });
  }
  for (const [name, { maxFileMb, ...options }] of Object.entries(connectors.s3)) {
    add('s3', name, async (source) => {
      const { s3Connector } = await import('./s3.ts');
      const credentials = credentialsOf(options, env);
      return s3Connector({ ...options, source, credentials, maxBytes: maxFileMb * MEGABYTE });
    });
  }
  for (const [name, settings] of Object.entries(connectors.script)) {
    add('script', name, (source) => openScript(source, settings));
  }
  return sources;
}

/** The configured credentials, otherwise those of the environment, as other S3 clients read them. */
function credentialsOf(
  own: { accessKeyId: string | null; secretAccessKey: string | null; sessionToken: string | null },
  env: Surroundings['env'],
) {
  const isOwn = own.accessKeyId !== null;
  const accessKeyId = own.accessKeyId ?? env.AWS_ACCESS_KEY_ID;
  const secretAccessKey = isOwn ? own.secretAccessKey : env.AWS_SECRET_ACCESS_KEY;
  const sessionToken = isOwn ? own.sessionToken : env.AWS_SESSION_TOKEN;
  if (!accessKeyId || !secretAccessKey) return null;
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}
