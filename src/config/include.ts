import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { text } from './fields.ts';
import { isInside } from './inside.ts';

/** What an included file may contain. Everything else is set in one place, the file that includes it. */
export const TEAM_SECTIONS = ['members', 'channels', 'agents', 'connectors'] as const;
export type TeamSection = (typeof TEAM_SECTIONS)[number];

export const include = z
  .array(text)
  .default([])
  .describe('Files with further members, channels, personas and sources, in the directory of this file.');

/** The files that the patterns name, in order. `*` stands for any characters in the last part of a path. */
export function includedFiles(patterns: readonly string[], file: string, name: string): string[] {
  const directory = dirname(file);
  const found = patterns.flatMap((pattern) => {
    const path = resolve(directory, pattern);
    if (!isInside(directory, path)) {
      throw new SubstratError('config', `${name}: include "${pattern}" must be in the directory of this file`);
    }
    if (!basename(path).includes('*')) return [path];
    const [before = '', ...rest] = basename(path).split('*');
    const matches = (entry: string) =>
      entry.startsWith(before) && rest.every((part) => entry.includes(part)) && entry.endsWith(rest.at(-1) ?? '');
    const place = dirname(path);
    return existsSync(place)
      ? readdirSync(place)
          .sort()
          .filter(matches)
          .map((entry) => join(place, entry))
      : [];
  });
  return [...new Set(found)].filter((path) => path !== file);
}

interface Team {
  readonly members: readonly { readonly name: string }[];
  readonly channels: readonly { readonly id: string }[];
  readonly agents: readonly { readonly name: string }[];
  readonly connectors: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Adds the teams to the file that includes them. A name that two files use is an error. */
export function withTeams<Whole extends Team>(
  whole: Whole,
  teams: readonly { readonly file: string; readonly team: Pick<Whole, TeamSection> }[],
): Whole {
  let sum = whole;
  for (const { file, team } of teams) {
    const known = new Set(tablesOf(sum));
    const twice = tablesOf(team).find((table) => known.has(table));
    if (twice !== undefined) {
      throw new SubstratError('config', `${file}: [${twice}] exists in another file of this configuration`);
    }
    const connectors = Object.fromEntries(
      Object.entries(sum.connectors).map(([kind, sources]) => [kind, { ...sources, ...team.connectors[kind] }]),
    );
    sum = {
      ...sum,
      members: [...sum.members, ...team.members],
      channels: [...sum.channels, ...team.channels],
      agents: [...sum.agents, ...team.agents],
      connectors,
    };
  }
  return sum;
}

/** Names that are unique in a whole configuration. */
function tablesOf({ members, channels, agents, connectors }: Team): string[] {
  return [
    ...members.map(({ name }) => `members.${keyOf(name)}`),
    ...channels.map(({ id }) => `channels.${id}`),
    ...agents.map(({ name }) => `agents.${keyOf(name)}`),
    ...Object.entries(connectors).flatMap(([kind, sources]) =>
      Object.keys(sources).map((name) => `connectors.${kind}.${name}`),
    ),
  ];
}
