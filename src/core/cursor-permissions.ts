import * as z from 'zod';
import { SubstratError } from './errors.ts';

/** What cursor-agent may do without asking. Without a terminal nobody can be asked, so it rejects everything else. */
export interface Permissions {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** The permissions of one file, and where it is. */
export interface PermissionSource extends Permissions {
  readonly path: string;
}

const SERVER = 'substrat';
/** Allows the calls of our tools. `--approve-mcps` approves the server only. */
const OUR_RULE = `Mcp(${SERVER}:*)`;

const rules = z.array(z.string()).catch([]);
const configured = z.object({ permissions: z.object({ allow: rules, deny: rules }) });

export function permissionsOf(path: string, config: unknown): PermissionSource {
  const { data } = configured.safeParse(config);
  return { path, allow: data?.permissions.allow ?? [], deny: data?.permissions.deny ?? [] };
}

/** All rules of the person's, and the one that allows our tools. */
export function withOurs(sources: readonly Permissions[]): Permissions {
  const all = (kind: keyof Permissions) => sources.flatMap((source) => source[kind]);
  return { allow: [...new Set([...all('allow'), OUR_RULE])], deny: [...new Set(all('deny'))] };
}

/** The directories in which cursor-agent looks for the person's `cli-config.json`, in its order. */
export function cursorConfigPlaces(env: Readonly<Record<string, string | undefined>>): string[] {
  const { CURSOR_CONFIG_DIR: own, XDG_CONFIG_HOME: xdg, HOME: home = '/' } = env;
  return [...(own ? [own] : []), ...(xdg ? [`${xdg}/cursor`] : []), `${home}/.cursor`];
}

/** The rules that deny some or all of our tools. */
export function rulesAgainstUs({ deny }: Permissions): string[] {
  return deny.filter((rule) => toolPatternOf(rule) !== null);
}

/** A rule that denies all our tools would make every turn useless. */
export function refuseDenial(sources: readonly PermissionSource[]): void {
  for (const { path, deny } of sources) {
    const rule = deny.find((one) => denies(one, null));
    if (rule === undefined) continue;
    const message = `The rule "${rule}" in \`permissions.deny\` of ${path} denies cursor-agent the tools of Substrat. Remove it, or let another provider run the agent.`;
    throw new SubstratError('bad_request', message);
  }
}

/** Why a call of one of our tools can have been rejected, and what to do. */
export function explainRejection(tool: string, reason: string, sources: readonly PermissionSource[]): string {
  const told = `cursor-agent rejected the call of Substrat's tool ${tool}${reason === '' ? '.' : `: ${reason}.`}`;
  for (const { path, deny } of sources) {
    const rule = deny.find((one) => denies(one, tool));
    if (rule !== undefined)
      return `${told} The rule "${rule}" in \`permissions.deny\` of ${path} denies it; remove it.`;
  }
  return `${told} \`permissions.allow\` has "${OUR_RULE}"; check the rules that your Cursor account or team sets, or set \`force = true\` in [providers.cursor-agent].`;
}

/** Whether a rule such as `Mcp(substrat:send_message)` hits the tool; null stands for all of ours. */
function denies(rule: string, tool: string | null): boolean {
  const pattern = toolPatternOf(rule);
  if (pattern === null) return false;
  return tool === null ? /^\*+$/.test(pattern) : matches(pattern, tool);
}

/** What a rule says of tools of ours; null where it is about something else. */
function toolPatternOf(rule: string): string | null {
  const [, inside] = /^\s*mcp\((.*)\)\s*$/is.exec(rule) ?? [];
  if (inside === undefined) return null;
  const [server = '', pattern = '*'] = inside.split(/[:,]/).map((part) => part.trim());
  return matches(server, SERVER) ? pattern : null;
}

/** Without a regular expression: a workspace's rules can be anybody's. */
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
