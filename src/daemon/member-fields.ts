import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import { type Applied, type AppliedField, decide, isEqual } from '../core/configured.ts';
import { SubstratError } from '../core/errors.ts';
import { readRegularText, UnreadableFile } from '../core/regular-file.ts';
import type { Settings } from '../core/settings.ts';
import { MAX_TEXT } from '../core/text.ts';
import type { AgentChange, ApplyItem } from '../http/api.ts';

export type Member = Config['members'][number];

/** The fields of a member that can change later, by name; null if not given. */
export type Fields = Readonly<Record<string, unknown>>;

export function fileFields(config: Config, member: Member): Fields {
  const { role, provider, model, program, maySpawn, fallback, workspace, tools, persona } = member;
  return {
    role,
    instructions: instructionsIn(config, member),
    provider,
    model,
    program,
    maySpawn,
    fallback,
    workspace,
    tools: tools && [...tools].sort(),
    persona: persona === null ? null : { name: persona, arguments: member.arguments },
  };
}

export function currentFields(agent: Settings): Fields {
  const { role, instructions, provider, model, program, maySpawn, fallback, workspace } = agent;
  const { tools, persona, personaArgs } = agent;
  return {
    role,
    instructions,
    provider,
    model,
    program,
    maySpawn,
    fallback,
    workspace,
    tools: tools && [...tools].sort(),
    persona: persona === null ? null : { name: persona, arguments: personaArgs ?? {} },
  };
}

/** What the fields of an agent were when nothing was applied yet. */
export function baseline(current: Fields): Applied {
  return Object.fromEntries(Object.entries(current).map(([name, value]) => [name, { file: null, value }]));
}

/** What the file changes about a member, and what it leaves. */
export interface FieldPlan {
  readonly items: readonly Omit<ApplyItem, 'kind' | 'name'>[];
  readonly change: AgentChange;
  /** What is stored as applied, given what the agent has afterwards. */
  readonly applied: (after: Fields) => Applied;
  readonly isDue: boolean;
}

export function planFields(file: Fields, earlier: Applied, current: Fields, force: boolean): FieldPlan {
  const items: Omit<ApplyItem, 'kind' | 'name'>[] = [];
  const wanted: Record<string, unknown> = {};
  const fields: Record<string, 'keep' | 'file' | 'current'> = {};
  for (const [field, value] of Object.entries(file)) {
    const verdict = decide(value, earlier[field], current[field]);
    const [from, to] = [show(current[field]), show(value)];
    const sets = verdict === 'set' || (verdict === 'conflict' && force);
    if (sets) wanted[field] = value;
    if (sets) items.push({ action: 'change', field, from, to, note: null });
    else if (verdict === 'conflict') {
      const note = 'changed in the file and by hand; `substrat apply --force` takes the value of the file';
      items.push({ action: 'conflict', field, from, to, note });
    } else if (verdict === 'dropped') {
      items.push({ action: 'left', field, from, to: null, note: 'no longer in the file; the value stays' });
    }
    fields[field] = verdict === 'dropped' ? 'current' : sets || verdict === 'noted' ? 'file' : 'keep';
  }
  const applied = (after: Fields): Applied =>
    Object.fromEntries(
      Object.entries(fields).map(([field, how]): [string, AppliedField] => {
        const before = earlier[field] ?? { file: null, value: current[field] };
        if (how === 'file') return [field, { file: file[field], value: after[field] }];
        if (how === 'current') return [field, { file: null, value: after[field] }];
        // A persona brings tools, a program its provider: nobody changed these by hand.
        const isOurs = isEqual(before.value, current[field]);
        return [field, isOurs ? { ...before, value: after[field] } : before];
      }),
    );
  const isDue = Object.values(fields).some((how) => how !== 'keep');
  return { items, change: toChange(wanted, file, earlier, current), applied, isDue };
}

/** Without tools of its own, a member that gets another persona gets its tools, unless people chose others. */
function toChange(wanted: Fields, file: Fields, earlier: Applied, current: Fields): AgentChange {
  const { persona, ...rest } = wanted;
  if (persona === undefined) return rest;
  const { name, arguments: given } = persona as { name: string; arguments: Record<string, string> };
  const isOurs = file.tools === null && isEqual(earlier.tools?.value, current.tools);
  const tools = isOurs || 'tools' in rest ? {} : { tools: current.tools as string[] | null };
  return { ...rest, ...tools, persona: name, arguments: given };
}

/** A value in a line, or how long it is. */
export function show(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (!text.includes('\n') && text.length <= 80) return text;
  return `${text.split('\n').length} lines, ${text.length} characters`;
}

/** Null if the member has none. */
function instructionsIn(config: Config, { name, instructions, instructionsFile }: Member): string | null {
  return instructionsFile ? readInstructions(config, name, instructionsFile) : instructions;
}

/**
 * An agent may be able to write the file, such as AGENTS.md in its workspace. So a symlink may only lead into the
 * configuration's directory, or the file's own if it is elsewhere; not to any file that the daemon can read.
 */
function readInstructions(config: Config, name: string, path: string): string {
  const beside = config.file === null ? null : dirname(config.file);
  const within = beside !== null && path.startsWith(`${beside}/`) ? beside : dirname(path);
  try {
    return readRegularText(path, { maxBytes: MAX_TEXT, links: { within } });
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    const message = `[members.${name}] instructions_file: ${path} cannot be read: ${error.message}.`;
    throw new SubstratError('config', message, { cause: error });
  }
}
