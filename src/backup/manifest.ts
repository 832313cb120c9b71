import * as z from 'zod';

/** The last entry of a backup; it describes all the others. */
export const MANIFEST = 'manifest.json';
export const MOST_MANIFEST = 64 * 1024 * 1024;
const FORMAT = 'substrat-backup';
const FORMAT_VERSION = 1;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);

const schema = z.strictObject({
  format: z.literal(FORMAT),
  formatVersion: z.int(),
  substrat: z.string(),
  createdAt: z.string(),
  /** The engine of the backed-up store; it can be restored on either. */
  engine: z.enum(['sqlite', 'postgres']),
  schemaVersion: z.int().min(1),
  nodeId: z.string(),
  home: z.string(),
  tables: z.record(z.string(), z.strictObject({ rows: count, sha256 })),
  counters: z.array(z.strictObject({ table: z.string(), value: count })),
  /** Agents' private homes, by agent id. */
  homes: z.record(z.string(), z.strictObject({ entries: count, bytes: count })),
  /** Only listed: their directories are not in the backup. */
  workspaces: z.array(z.strictObject({ name: z.string(), path: z.string(), nodeId: z.string() })),
  skipped: z.strictObject({ count, listed: z.array(z.strictObject({ path: z.string(), reason: z.string() })) }),
  /** Everything in the archive before this entry. */
  archive: z.strictObject({ bytes: count, sha256 }),
});

export type Manifest = z.infer<typeof schema>;

export function createManifest(about: Omit<Manifest, 'format' | 'formatVersion'>): Manifest {
  return { format: FORMAT, formatVersion: FORMAT_VERSION, ...about };
}

/** Throws with the reason if this version cannot read it as a manifest. */
export function parseManifest(text: string): Manifest {
  const value = JSON.parse(text) as { format?: unknown; formatVersion?: unknown };
  if (value?.format !== FORMAT) throw new Error('its manifest is not that of a Substrat backup');
  if (value.formatVersion !== FORMAT_VERSION)
    throw new Error(`its format has version ${value.formatVersion}; update Substrat`);
  const parsed = schema.safeParse(value);
  if (!parsed.success)
    throw new Error(`its manifest is damaged: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
  return parsed.data;
}
