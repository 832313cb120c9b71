/** What a tool of an agent program's own does, whatever the program calls it. */
export const OWN_KINDS = ['shell', 'read', 'write', 'other'] as const;
export type OwnKind = (typeof OWN_KINDS)[number];

/** A call of a tool of the program's own, in the same words for every program. */
export interface OwnCall {
  readonly kind: OwnKind;
  /** For `shell`, `command` and, if it is not the workspace, `cwd`; for files, `path` and the other arguments that the program reports. */
  readonly input: Readonly<Record<string, unknown>>;
  /** If the call changes several files: each of them. The strictest verdict holds. */
  readonly parts?: readonly Readonly<Record<string, unknown>>[];
}

/** Its name in policies and questions: no other tool has a colon in its name. */
export function ownToolName(kind: OwnKind): string {
  return `own:${kind}`;
}

const WORDS: Readonly<Record<string, string>> = {
  'own:shell': 'your own shell',
  'own:read': 'your own tool for reading files',
  'own:write': 'your own tool for changing files',
  'own:other': 'your own tool',
};

/** A tool as its agent knows it. */
export function toolInWords(tool: string): string {
  return WORDS[tool] ?? tool;
}
