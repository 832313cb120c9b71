import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { SubstratError } from '../../core/errors.ts';
import { SERVER } from '../calls.ts';
import type { Caution } from '../description.ts';

/** What cursor-agent may do without asking. Without a terminal it cannot ask, so it rejects everything else. */
export interface Permissions {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** The permissions of one file, and its path. */
export interface PermissionSource extends Permissions {
  readonly path: string;
}

/** Allows calls of our tools. `--approve-mcps` only approves the server. */
const OUR_RULE = `Mcp(${SERVER}:*)`;

const rules = z.array(z.string()).catch([]);
const configured = z.object({ permissions: z.object({ allow: rules, deny: rules }) });

export function permissionsOf(path: string, config: unknown): PermissionSource {
  const { data } = configured.safeParse(config);
  return { path, allow: data?.permissions.allow ?? [], deny: data?.permissions.deny ?? [] };
}

/** All rules of the person, plus the one that allows our tools. */
export function withOurs(sources: readonly Permissions[]): Permissions {
  const all = (kind: keyof Permissions) => sources.flatMap((source) => source[kind]);
  return { allow: [...new Set([...all('allow'), OUR_RULE])], deny: [...new Set(all('deny'))] };
}

/** The directories in which cursor-agent looks for the person's `cli-config.json`, in order. */
export function cursorConfigPlaces(env: Readonly<Record<string, string | undefined>>): string[] {
  const { CURSOR_CONFIG_DIR: own, XDG_CONFIG_HOME: xdg, HOME: home = '/' } = env;
  return [...(own ? [own] : []), ...(xdg ? [`${xdg}/cursor`] : []), `${home}/.cursor`];
}

/** For `doctor`: the person's rules can prevent the program from calling Substrat's tools. */
export function examinePermissions(env: Readonly<Record<string, string | undefined>>): Caution | null {
  const path = cursorConfigPlaces(env)
    .map((place) => join(place, 'cli-config.json'))
    .find(existsSync);
  if (path === undefined) return null;
  try {
    const { deny } = permissionsOf(path, JSON.parse(readFileSync(path, 'utf8')));
    const rules = deny.filter((rule) => toolPatternOf(rule) !== null);
    if (rules.length === 0) return null;
    const mend = 'Remove the rules; a turn that calls a denied tool fails.';
    return { detail: `${path} denies tools of Substrat in permissions.deny: ${rules.join(', ')}`, mend };
  } catch {
    return null;
  }
}

/** A rule that denies all our tools would make every turn useless. */
export function refuseDenial(sources: readonly PermissionSource[]): void {
  for (const { path, deny } of sources) {
    const rule = deny.find((one) => denies(one, null));
    if (rule === undefined) continue;
    const message = `The rule "${rule}" in \`permissions.deny\` of ${path} denies cursor-agent Substrat's tools. Remove the rule, or use another provider for the agent.`;
    throw new SubstratError('bad_request', message);
  }
}

/** Why a call of one of our tools may have been rejected, and how to fix it. */
export function explainRejection(tool: string, reason: string, sources: readonly PermissionSource[]): string {
  const told = `cursor-agent rejected the call of Substrat's tool ${tool}${reason === '' ? '.' : `: ${reason}.`}`;
  for (const { path, deny } of sources) {
    const rule = deny.find((one) => denies(one, tool));
    if (rule !== undefined)
      return `${told} The rule "${rule}" in \`permissions.deny\` of ${path} denies it; remove it.`;
  }
  return `${told} \`permissions.allow\` has "${OUR_RULE}"; check the rules that your Cursor account or team sets, or set \`force = true\` in [providers.cursor-agent].`;
}

/** Whether a rule such as `Mcp(substrat:send_message)` matches the tool; null stands for all our tools. */
function denies(rule: string, tool: string | null): boolean {
  const pattern = toolPatternOf(rule);
  if (pattern === null) return false;
  return tool === null ? /^\*+$/.test(pattern) : matches(pattern, tool);
}

/** The part of a rule that is about our tools; null if it is about something else. */
function toolPatternOf(rule: string): string | null {
  const [, inside] = /^\s*mcp\((.*)\)\s*$/is.exec(rule) ?? [];
  if (inside === undefined) return null;
  const [server = '', pattern = '*'] = inside.split(/[:,]/).map((part) => part.trim());
  return matches(server, SERVER) ? pattern : null;
}

/** Without a regular expression, because a workspace's rules are untrusted. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.toLowerCase().split('*');
  const name = text.toLowerCase();
  const last = rest.pop();
  if (last === undefined) return name === first;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.startsWith(first) && name.length - last.length >= at && name.endsWith(last);
}
