/** A program to start: what a provider builds, a sandbox wraps and `process.ts` spawns. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}
