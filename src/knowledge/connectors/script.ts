import { hash } from 'node:crypto';
import * as z from 'zod';
import type { Environment } from '../../core/environment.ts';
import { SubstratError } from '../../core/errors.ts';
import { parseBounded } from '../../core/json-bounds.ts';
import { canonicalJson } from '../../core/text.ts';
import { describeProblems } from '../../core/validation.ts';
import { openScript, type ReadScript } from '../../scripting/open.ts';
import type { Scripting, ScriptLog } from '../../scripting/scripting.ts';
import { type Connector, MAX_SOURCE_ID } from '../connector.ts';

export interface ScriptConnectorOptions {
  readonly scripting: Scripting;
  /** The table of the configuration: `path`, `timeout`, `env`, `network`, and the script's own keys. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly env: Environment;
  readonly readScript: ReadScript;
  readonly log: ScriptLog;
}

export interface Scan {
  readonly items: readonly ScriptItem[];
  /** Why items were skipped. */
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
}

const RESULT_BYTES = 32 * 1024 * 1024;
const DEFAULT_TIMEOUT_S = 30;

/** The latest time that a JavaScript date can represent. */
const LAST_TIME = 8.64e15;
const NO_NUL = [(text: string) => !text.includes('\0'), 'must not contain NUL characters'] as const;

/** An ISO time or seconds since 1970. */
const time = z
  .union([z.string(), z.number()])
  .transform((given, context) => {
    const ms = typeof given === 'number' ? given * 1_000 : Date.parse(given);
    if (Math.abs(ms) <= LAST_TIME) return Math.round(ms);
    context.addIssue('must be a time');
    return z.NEVER;
  })
  .nullish();

const ScriptItem = z.object({
  source_id: z
    .string()
    .min(1)
    .refine((id) => Buffer.byteLength(id) <= MAX_SOURCE_ID, `has more than ${MAX_SOURCE_ID} bytes`)
    .refine(...NO_NUL),
  body: z.string(),
  title: z.string().nullish(),
  content_type: z.string().nullish(),
  source_url: z
    .string()
    .refine(...NO_NUL)
    .nullish(),
  author: z.string().nullish(),
  created_at: time,
  updated_at: time,
  metadata_json: z
    .string()
    .transform((source, context): Record<string, unknown> => {
      const value = parsed(source);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
      context.addIssue('must be a JSON object');
      return z.NEVER;
    })
    .nullish(),
});
export type ScriptItem = z.output<typeof ScriptItem>;
export type GivenItem = z.input<typeof ScriptItem>;

const Settings = z.looseObject({
  path: z.string(),
  timeout: z.number().positive().default(DEFAULT_TIMEOUT_S),
  env: z.array(z.string()).default([]),
  network: z.array(z.string()).nullable().default(null),
});

/** A source that a script scans. */
export function scriptConnector(source: string, options: ScriptConnectorOptions): Connector {
  return itemConnector(source, () => scanScript(options));
}

/** A source that is scanned completely each time, so an item that is missing from the scan is gone. */
export function itemConnector(source: string, scan: () => Promise<Scan>): Connector {
  let items = new Map<string, ScriptItem>();
  return {
    source,
    tags: [],
    maxBytes: RESULT_BYTES,
    checkpoint: () => null,
    close: async () => {},
    async *list({ signal, onUnlisted }) {
      const found = await scan();
      signal.throwIfAborted();
      items = new Map(found.items.map((item) => [item.source_id, item]));
      for (const { name, reason } of found.problems) onUnlisted(name, reason);
      yield [...items.values()].map((item) => ({
        sourceId: item.source_id,
        version: versionOf(item),
        size: Buffer.byteLength(item.body),
        updatedAt: item.updated_at ?? null,
        contentType: item.content_type ?? null,
      }));
    },
    async read({ sourceId }) {
      const item = items.get(sourceId);
      if (item === undefined) return null;
      return {
        bytes: Buffer.from(item.body),
        title: item.title ?? null,
        contentType: item.content_type ?? null,
        author: item.author ?? null,
        url: item.source_url ?? null,
        createdAt: item.created_at ?? null,
        updatedAt: item.updated_at ?? null,
        metadata: item.metadata_json ?? {},
      };
    },
  };
}

/** Runs `connector.scan(config)` and validates every item it returns. */
export async function scanScript({ scripting, settings, log, ...around }: ScriptConnectorOptions): Promise<Scan> {
  const { path, timeout, env: listed, network, ...config } = Settings.parse(settings);
  const entry = { path, timeoutMs: timeout * 1_000, env: listed, network };
  const script = { ...(await openScript(entry, 'connector', around)), resultBytes: RESULT_BYTES };
  const found = await scripting.run(script, { method: 'scan', args: [config], log });
  if (typeof found !== 'object' || found === null) {
    throw new SubstratError('script_error', `${script.name}: connector.scan must return a list of items`);
  }
  return checkItems(Array.isArray(found) ? found : Object.values(found));
}

/** Invalid items are reported and skipped. */
export function checkItems(given: readonly unknown[]): Scan {
  const items: ScriptItem[] = [];
  const problems: { name: string; reason: string }[] = [];
  const seen = new Set<string>();
  for (const [index, value] of given.entries()) {
    const { data, error } = ScriptItem.safeParse(value);
    const name = nameOf(value, index);
    if (error) {
      problems.push({ name, reason: describeProblems(error) });
    } else if (seen.has(data.source_id)) problems.push({ name, reason: 'another item has this source_id' });
    else {
      seen.add(data.source_id);
      items.push(data);
    }
  }
  return { items, problems };
}

function nameOf(value: unknown, index: number): string {
  const { source_id: id }: { source_id?: unknown } = Object(value);
  return typeof id === 'string' && id !== '' ? id.slice(0, 200) : `item ${index + 1}`;
}

/** Changes with any field of the item. */
function versionOf(item: ScriptItem): string {
  return hash('sha256', canonicalJson(item), 'hex');
}

function parsed(source: string): unknown {
  try {
    return parseBounded(source);
  } catch {
    return null;
  }
}
