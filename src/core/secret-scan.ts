/** What keys look like. Few and specific: a file with one is not copied to other machines. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\b(AKIA|ASIA)[0-9A-Z]{16}\b/,
  /\bgh[pousr]_[A-Za-z0-9]{36,}/,
  /\bgithub_pat_[A-Za-z0-9_]{40,}/,
  /\bglpat-[\w-]{20,}/,
  /\bxox[abprs]-[\w-]{20,}/,
  /\bsk-ant-[\w-]{20,}/,
  /\bsk-(proj-)?[A-Za-z0-9_-]{32,}/,
  /\b[sr]k_live_[A-Za-z0-9]{20,}/,
  /\bAIza[0-9A-Za-z_-]{35}/,
  /\bnpm_[A-Za-z0-9]{36}/,
  /\bya29\.[\w-]{20,}/,
  /:\/\/[^/\s"'@:]+:[^/\s"'@]{6,}@/,
];

/** Whether a text contains what looks like a key or a login. */
export function looksSecret(text: string): boolean {
  return SHAPES.some((shape) => shape.test(text));
}
