import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { makeHome, resolveHome } from '../config/home.ts';
import type { BoundTool } from '../core/bound-tool.ts';
import { VERSION } from '../core/version.ts';
import { Daemon } from './daemon.ts';
import { openLog } from './log.ts';

export type { BoundTool, ToolResult } from '../core/bound-tool.ts';

export interface StartOptions {
  /** A configuration file. Default: the one that `substrat up` reads. */
  readonly config?: string;
  /** Default: $SUBSTRAT_HOME, or ~/.substrat. */
  readonly home?: string;
}

export interface RunningDaemon {
  readonly home: string;
  /** The tools in an agent's scope, bound to it. Call them in this process, or pass them to an MCP library. */
  getTools(agentId: string): Promise<BoundTool[]>;
  stop(): Promise<void>;
}

/** Starts a daemon in this process, like `substrat up`. Talk to it with `createClient({ home })` of substrat/client. */
export async function startDaemon(options: StartOptions = {}): Promise<RunningDaemon> {
  const home = options.home ?? resolveHome(process.env);
  const config = loadConfig({ file: options.config, cwd: process.cwd(), home, env: process.env });
  makeHome(home);
  const daemon = await Daemon.start({ home, config, version: VERSION, log: openLog(join(home, 'daemon.log')) });
  return { home, getTools: (agentId) => daemon.doors.getTools(agentId), stop: () => daemon.stop() };
}
