import { posix } from 'node:path';
import { parse } from 'smol-toml';
import * as z from 'zod';
import { oneLine } from '../../config/wants.ts';
import { NAME } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { shorten } from '../../core/text.ts';
import { describeProblems } from '../../core/validation.ts';
import type { RegistryTree } from './tree.ts';

export const KINDS = ['connectors', 'tools', 'agents'] as const;
export type Kind = (typeof KINDS)[number];

/** A script that a registry offers. */
export interface Extension {
  readonly kind: Kind;
  readonly name: string;
  /** Its script, relative to the registry. */
  readonly path: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** The keys that its table must have. */
  readonly required: readonly string[];
}

const MANIFEST = 'registry.toml';
const texts = z.array(z.string()).default([]);
const Entry = z.looseObject({
  path: z.string(),
  description: z.string().default(''),
  tags: texts,
  required_config: texts,
});
const entries = z.record(z.string(), Entry).default({});
const Manifest = z.looseObject({ connectors: entries, tools: entries, agents: entries });

/** The extensions that `registry.toml` names; without it, those that the directories contain. */
export async function extensionsOf(tree: RegistryTree): Promise<Extension[]> {
  const files = await tree.list();
  const found = files.includes(MANIFEST) ? fromManifest(await tree.read(MANIFEST)) : discover(files);
  const known = new Set(files);
  return found
    .filter(({ name, path }) => NAME.test(name) && known.has(path) && path.endsWith('.lua'))
    .sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

/** As in `tools/summarize`. */
export function idOf({ kind, name }: Pick<Extension, 'kind' | 'name'>): string {
  return `${kind}/${name}`;
}

function fromManifest(source: string): Extension[] {
  let document: unknown;
  try {
    document = parse(source);
  } catch {
    throw new SubstratError('config', `${MANIFEST} is not valid TOML.`);
  }
  const { data, error } = Manifest.safeParse(document);
  if (error) throw new SubstratError('config', `${MANIFEST}: ${describeProblems(error)}.`);
  return KINDS.flatMap((kind) =>
    Object.entries(data[kind]).map(([name, entry]) => ({
      kind,
      name,
      path: posix.normalize(entry.path).replace(/^\.\//, ''),
      // It is shown in lists.
      description: shorten(oneLine(entry.description), 200),
      tags: entry.tags.map((tag) => shorten(oneLine(tag), 40)),
      required: entry.required_config.filter((key) => /^[A-Za-z_]\w*$/.test(key)),
    })),
  );
}

/** `tools/NAME.lua`, or `tools/NAME/tool.lua`. */
function discover(files: readonly string[]): Extension[] {
  return files.flatMap((path): Extension[] => {
    const [, kind, flat, nested, script] =
      /^(connectors|tools|agents)\/(?:([^/]+)\.lua|([^/]+)\/(connector|tool|agent)\.lua)$/.exec(path) ?? [];
    const name = flat ?? nested;
    if (kind === undefined || name === undefined || (script !== undefined && `${script}s` !== kind)) return [];
    return [{ kind: kind as Kind, name, path, description: '', tags: [], required: [] }];
  });
}
