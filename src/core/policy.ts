import { OWN_KINDS, type OwnKind, ownToolName } from './own-tool.ts';
import { canonicalJson } from './text.ts';

/** From the least to the most strict. */
export const ACTIONS = ['allow', 'ask', 'deny'] as const;
export type Action = (typeof ACTIONS)[number];

/** What the configuration says about calls of a tool. */
export interface Policy {
  readonly name: string;
  /** `*`: every tool; `own:KIND`: what programs do with tools of their own; `own:*`: all of it. */
  readonly tool: string;
  readonly action: Action;
  /** The handle of the agent that it is about; null: any. */
  readonly agent: string | null;
  readonly persona: string | null;
  /** Top-level arguments that the call must have. A string with `*` is a pattern for the whole value; any other value is exact. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Handles of those who may approve; null: only the owner. */
  readonly by: readonly string[] | null;
}

export interface Verdict {
  readonly action: Action;
  /** The policy that decided; null if none is about the call. */
  readonly policy: Policy | null;
}

/** Whom a call is judged for: the agent itself, or an ancestor. */
export interface Subject {
  readonly handle: string;
  readonly persona: string | null;
}

/** What an argument refers to: an agent, a channel, a directory, in every way in which a policy may write it. */
export interface Meant {
  readonly spellings: readonly string[];
  /** Nothing of that name was found, so that whatever asks about or denies some value counts. */
  readonly unknown?: true;
  /** Upper and lower case differ. */
  readonly cased?: true;
}

export type Meanings = Readonly<Record<string, Meant>>;

/** A longer value matches no pattern that allows, and every pattern that asks or denies. */
const MAX_MATCHED = 10_000;

/**
 * The verdict on a call. For each of the agent and its ancestors, the narrowest policy decides: exact arguments, then a pattern,
 * then the tool, then all own tools of programs, then every tool; then one that names the agent, then its persona, then any; ties go to the strictest. Over all of
 * them the strictest verdict holds, so a child never exceeds its parent.
 */
export function judge(
  policies: readonly Policy[],
  line: readonly Subject[],
  tool: string,
  input: Readonly<Record<string, unknown>>,
  /** Of those arguments that are references; also of what an argument that is left out means. */
  meanings: Meanings = {},
): Verdict {
  const verdict = strictest(line.map((subject) => judgeFor(policies, subject, { tool, input, meanings })));
  // Otherwise nobody could be asked.
  return tool === 'ask_person' && verdict.action === 'ask' ? ALLOWED : verdict;
}

/** A policy that asks or denies and that may be about calls of this kind. */
export interface Concern {
  readonly kind: OwnKind;
  readonly policy: Policy;
}

/** Which of these kinds of programs' own tools are not simply allowed to the agent. */
export function concernsOf(
  policies: readonly Policy[],
  line: readonly Subject[],
  kinds: readonly OwnKind[] = OWN_KINDS,
): Concern[] {
  return kinds.flatMap((kind) => {
    const policy = policies.find(
      (one) =>
        one.action !== 'allow' &&
        isAboutTool(one, ownToolName(kind)) &&
        line.some((subject) => isAboutSubject(one, subject)),
    );
    return policy ? [{ kind, policy }] : [];
  });
}

const SHELL = ownToolName('shell');
const ALLOWED: Verdict = { action: 'allow', policy: null };

interface JudgedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly meanings: Meanings;
}

function judgeFor(policies: readonly Policy[], subject: Subject, call: JudgedCall): Verdict {
  const [first] = policies
    .filter((policy) => isAbout(policy, subject, call))
    .sort((a, b) => rankOf(b) - rankOf(a) || ACTIONS.indexOf(b.action) - ACTIONS.indexOf(a.action));
  return first ? { action: first.action, policy: first } : ALLOWED;
}

/** Of none, everything is allowed. */
export function strictest(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((a, b) => (strictness(b) > strictness(a) ? b : a), ALLOWED);
}

function strictness({ action }: Verdict): number {
  return ACTIONS.indexOf(action);
}

function isAbout(policy: Policy, subject: Subject, { tool, input, meanings }: JudgedCall): boolean {
  if (!isAboutTool(policy, tool) || !isAboutSubject(policy, subject)) return false;
  // `ls *` would also allow `ls; curl …`: a command is allowed only as a whole.
  if (tool === SHELL && policy.action === 'allow' && Object.values(policy.arguments).some(isPattern)) return false;
  return Object.entries(policy.arguments).every(([key, wanted]) => {
    const isWritten = Object.hasOwn(input, key) && matches(policy.action, wanted, input[key]);
    // What is written may lead elsewhere: `/a/../b` fits `/a/*`.
    if (Object.hasOwn(meanings, key)) {
      return isMeant(policy.action, wanted, meanings[key] as Meant) || (isWritten && policy.action !== 'allow');
    }
    return isWritten || (!Object.hasOwn(input, key) && isUntold(policy, tool, key));
  });
}

/** A reference means the same in every spelling, to policies that allow as well. */
function isMeant(action: Action, wanted: unknown, { spellings, unknown, cased }: Meant): boolean {
  if (unknown) return action !== 'allow';
  const fold = (value: unknown) => (typeof value === 'string' && !cased ? value.toLowerCase() : value);
  return spellings.some((spelling) => matches(action, fold(wanted), fold(spelling)));
}

/** What is executed or changed and not said may be anything, so that whatever asks about or denies a part of it counts. */
const TOLD = new Map([
  [SHELL, 'command'],
  [ownToolName('write'), 'path'],
]);

function isUntold({ action }: Policy, tool: string, key: string): boolean {
  return action !== 'allow' && TOLD.get(tool) === key;
}

function isAboutTool({ tool: wanted }: Policy, tool: string): boolean {
  return wanted === '*' || wanted === tool || (wanted === 'own:*' && tool.startsWith('own:'));
}

function isAboutSubject({ agent, persona }: Policy, subject: Subject): boolean {
  if (agent !== null && agent.toLowerCase() !== subject.handle.toLowerCase()) return false;
  return persona === null || persona.toLowerCase() === subject.persona?.toLowerCase();
}

function matches(action: Action, wanted: unknown, value: unknown): boolean {
  if (!isPattern(wanted)) return canonicalJson(wanted) === canonicalJson(value);
  // A list or an object may contain what the pattern means.
  if (typeof value !== 'string') return action !== 'allow' && typeof value === 'object' && value !== null;
  if (value.length > MAX_MATCHED) return action !== 'allow';
  return fits(wanted.split('*'), value);
}

/** The parts in order, the first at the beginning and the last at the end: in linear time. */
function fits(parts: readonly string[], value: string): boolean {
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length) return false;
  let at = first.length;
  const end = value.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

function isPattern(wanted: unknown): wanted is string {
  return typeof wanted === 'string' && wanted.includes('*');
}

/** The higher, the narrower. */
function rankOf({ tool, arguments: args, agent, persona }: Policy): number {
  const values = Object.values(args);
  const named = tool === '*' ? 0 : tool === 'own:*' ? 1 : 2;
  const what = values.length > 0 ? (values.some(isPattern) ? 3 : 4) : named;
  return what * 4 + (agent === null ? 0 : 2) + (persona === null ? 0 : 1);
}
