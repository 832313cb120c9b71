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
  /** Where a login for its program can be; without it, no login is needed or known. */
  readonly login?: LoginPlaces;
  /** Messages that arrive during a turn are inserted into it. Otherwise results of our tools mention them. */
  readonly steers?: true;
  /**
   * Where its program stores sessions, as paths in the agent's home without logins and settings; none if it stores them
   * elsewhere. Without this, agents of the provider start a new session on another node.
   */
  readonly sessionPaths?: readonly string[];
  /** Its program says what a turn costs. */
  readonly reportsCost?: true;
  /** Neither its program nor the proxy counts tokens. */
  readonly countsNothing?: true;
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
  readonly accounts: z.ZodType<Record<string, { readonly env: Record<string, string> }>>;
};

export interface InstalledProgram {
  /** Looked up in PATH unless the configuration names another one. */
  readonly command: string;
  /** How to install it, or how to name another one: one sentence. */
  readonly install: string;
  /** Why a program with this `--version` output cannot be used; null if it can. Null itself: it is not asked. */
  readonly versionProblem: ((answer: string) => string | null) | null;
  /** Settings of the person that prevent its agents from working. */
  readonly examine?: (env: Environment) => Promise<Caution | null>;
}

/** What shows, without a call, that somebody is logged in. */
export interface LoginPlaces {
  /** Variables in `env` of its table; one of them is enough. */
  readonly variables: readonly string[];
  /** The file that the program's own login writes: in the directory of a variable, or one in the person's home. */
  readonly file?: { readonly variable: string; readonly directory: string; readonly name: string };
}

/** As shown by `doctor`. */
export interface Caution {
  readonly detail: string;
  /** How to fix it. */
  readonly mend: string;
}
