import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { makeHome, resolveHome } from '../config/home.ts';
import type { BoundTool } from '../core/bound-tool.ts';
import { Daemon } from './daemon.ts';
import { openLog } from './log.ts';

export type { BoundTool, ToolResult } from '../core/bound-tool.ts';

export interface StartOptions {
  /** A configuration file; left out, the one that `substrat up` would find. */
  readonly config?: string;
  /** Left out, $SUBSTRAT_HOME or ~/.substrat. */
  readonly home?: string;
}

export interface RunningDaemon {
  readonly home: string;
  /** The tools in the scope of an agent, bound to it: to be called in this process, or handed to an MCP library. */
  getTools(agentId: string): Promise<BoundTool[]>;
  stop(): Promise<void>;
}

/** A daemon in this process, as `substrat up` has one; `createClient({ home })` of substrat/client talks to it. */
export async function startDaemon(options: StartOptions = {}): Promise<RunningDaemon> {
  const home = options.home ?? resolveHome(process.env);
  const config = loadConfig({ file: options.config, cwd: process.cwd(), home, env: process.env });
  makeHome(home);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const daemon = await Daemon.start({ home, config, version, log: openLog(join(home, 'daemon.log')) });
  return { home, getTools: (agentId) => daemon.getTools(agentId), stop: () => daemon.stop() };
}
