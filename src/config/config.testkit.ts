import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../core/environment.ts';
import { type Config, loadConfig } from './config.ts';

/** Loads a text as the `substrat.toml` of a temporary directory. */
export function load(source: string | Uint8Array, env: Environment = {}): Config & { readonly cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'substrat-config-'));
  try {
    writeFileSync(join(cwd, 'substrat.toml'), source);
    return { ...loadConfig({ file: 'substrat.toml', cwd, home: join(cwd, 'home'), env }), cwd };
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** What loading throws; null if it does not throw. */
export function failure(source: string | Uint8Array, env: Environment = {}): unknown {
  try {
    load(source, env);
    return null;
  } catch (error) {
    return error;
  }
}

export function failureText(source: string | Uint8Array, env: Environment = {}): string {
  const error = failure(source, env);
  return error instanceof Error ? error.message : '';
}
