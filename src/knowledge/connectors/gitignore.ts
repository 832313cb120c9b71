import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { readRegularText } from '../../core/regular-file.ts';

/** The rules that apply in a directory: those of its own `.gitignore`, then those of its parents. */
export interface IgnoreRules {
  readonly around: IgnoreRules | null;
  /** Ends with a slash. Relative to the root of the source; may lead out of it (`../`). */
  readonly prefix: string;
  readonly rules: Ignore;
}

/** A larger `.gitignore` is ignored. */
const MAX_RULES = 1_000_000;
const MOST_RULES = 10_000;
/** A rule with more `**` is ignored. */
const MOST_STARS = 3;

/** The rules of the directories between the root of a source and the root of its repository. */
export function rulesAround(root: string): IgnoreRules | null {
  const above: string[] = [];
  for (let at = root; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) break;
    if (dirname(at) === at) return null;
    above.push(dirname(at));
  }
  let rules: IgnoreRules | null = null;
  for (const directory of above.reverse()) rules = withRulesOf(directory, toRelative(directory, root), rules);
  return rules;
}

/** `around` plus the rules of the `.gitignore` in this directory. As in git, a symlink has no effect. */
export function withRulesOf(directory: string, prefix: string, around: IgnoreRules | null): IgnoreRules | null {
  try {
    const text = readRegularText(join(directory, '.gitignore'), { maxBytes: MAX_RULES, links: 'refuse' });
    return { around, prefix, rules: ignore().add(text.split('\n').filter(isReasonable).slice(0, MOST_RULES)) };
  } catch {
    return around;
  }
}

/** Matching tries every directory for each `**`, so several of them take exponential time. */
function isReasonable(rule: string): boolean {
  return rule.split('**').length <= MOST_STARS + 1;
}

/** As in git, the nearest rule decides. The path of a directory ends with a slash. */
export function isIgnored(rules: IgnoreRules | null, path: string, root: string): boolean {
  for (let at = rules; at; at = at.around) {
    const inside = at.prefix.startsWith('..')
      ? relative(join(root, at.prefix), join(root, path))
      : path.slice(at.prefix.length);
    const { ignored, unignored } = at.rules.test(path.endsWith('/') && !inside.endsWith('/') ? `${inside}/` : inside);
    if (ignored || unignored) return ignored;
  }
  return false;
}

function toRelative(directory: string, root: string): string {
  return `${relative(root, directory)}/`;
}
