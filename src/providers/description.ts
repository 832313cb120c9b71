import type * as z from 'zod';
import type { Environment } from '../core/environment.ts';

/**
 * What is known of a provider before it runs anything: for configuration checks, `--help` and `doctor`. Pure data:
 * loads nothing that starts a program.
 */
export interface Description<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** The keys of its table `[providers.NAME]`, in addition to those of every provider (`slots`, `prices`). */
  readonly settings: (fields: Fields) => Shape;
  /** The program that must be installed. */
  readonly program?: InstalledProgram;
  /** Its agents are the person's own programs (`--program`). */
  readonly runsOwnProgram?: boolean;
  /** The maximum number of tools its program accepts, over all MCP servers. */
  readonly maxTools?: number;
  /** The workspace file that names the workspace's own MCP servers. */
  readonly toolServers?: string;
}

/** Field types of the configuration. Passed in, so that a description loads no library. */
export interface Fields {
  readonly z: typeof z;
  /** The keys of a provider that starts a program. */
  readonly program: ProgramFields;
}

export type ProgramFields = {
  readonly command: z.ZodType<string | null>;
  readonly args: z.ZodType<string[]>;
  readonly env: z.ZodType<Record<string, string>>;
};

export interface InstalledProgram {
  /** Looked up in PATH unless the configuration names another one. */
  readonly command: string;
  /** How to install it, or how to name another one: one sentence. */
  readonly install: string;
  /** Why a program with this `--version` output cannot be used; null if it can. */
  readonly versionProblem: (answer: string) => string | null;
  /** Settings of the person that prevent its agents from working. */
  readonly examine?: (env: Environment) => Promise<Caution | null>;
}

/** As shown by `doctor`. */
export interface Caution {
  readonly detail: string;
  /** How to fix it. */
  readonly mend: string;
}
