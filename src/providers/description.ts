import type * as z from 'zod';
import type { Environment } from '../core/environment.ts';

/**
 * What is known of a provider before it runs anything: for the check of the configuration, `--help` and `doctor`. It is
 * data, and loads nothing that starts a program.
 */
export interface Description<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** The keys of its table `[providers.NAME]`, beside those that every provider has (`slots`, `prices`). */
  readonly settings: (fields: Fields) => Shape;
  /** The program that has to be installed. */
  readonly program?: InstalledProgram;
  /** Its agents are programs of the person's own (`--program`). */
  readonly runsOwnProgram?: boolean;
  /** How many tools its program takes, those of all MCP servers together. */
  readonly maxTools?: number;
  /** The file of a workspace that names MCP servers of the workspace's own. */
  readonly toolServers?: string;
}

/** What the configuration gives to those who declare keys. Handed over, so that a description loads no library. */
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
  /** Looked up in PATH where the configuration names no other. */
  readonly command: string;
  /** How to install it, or to name another: one sentence. */
  readonly install: string;
  /** Why a program that answers so to `--version` cannot be used; null for one that can. */
  readonly versionProblem: (answer: string) => string | null;
  /** What the person has set up that keeps its agents from working. */
  readonly examine?: (env: Environment) => Promise<Caution | null>;
}

/** As `doctor` shows it. */
export interface Caution {
  readonly detail: string;
  /** What to do about it. */
  readonly mend: string;
}
