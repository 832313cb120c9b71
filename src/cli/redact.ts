import type { Environment } from '../core/environment.ts';

const HIDDEN = '(secret)';
/** Shorter values are too common to be replaced wherever they occur. */
const SHORTEST = 6;
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|session/i;
/** What secrets look like, for those that are not known. */
const SHAPES: readonly [RegExp, string][] = [
  [/:\/\/[^/\s"'@]+@/g, '://(secret)@'],
  [/\b(Bearer|Basic|token)\s+[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/\b(sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza|hf|npm|ya29)[-_]?[\w-]{12,}/g, HIDDEN],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, HIDDEN],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, HIDDEN],
  [
    /(["']?[\w-]*(?:api_?key|token|secret|passw(?:or)?d|authorization)["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}]+)/gi,
    `$1"${HIDDEN}"`,
  ],
];

/** Replaces known values, those of variables with such names, and everything that looks like a secret. */
export function createRedaction(values: readonly string[], env: Environment): (text: string) => string {
  const ofVariables = Object.entries(env).flatMap(([name, value]) => (SECRET_NAME.test(name) && value ? [value] : []));
  const known = [...new Set([...values, ...ofVariables])]
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), ...value.split(/\r?\n/)])
    .filter((value) => value.length >= SHORTEST)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of known) clean = clean.replaceAll(value, () => HIDDEN);
    for (const [shape, into] of SHAPES) clean = clean.replace(shape, into);
    return clean;
  };
}
