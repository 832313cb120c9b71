/** What commands share. */
export interface Context {
  readonly version: string;
  readonly home: () => string;
  readonly print: (line: string) => void;
}

/** The command was called wrongly: exit code 2. */
export class UsageError extends Error {}

export interface GlobalOptions {
  readonly config?: string;
  readonly json?: boolean;
}
