import { afterAll } from 'vitest';
import { createScripting, type Script, type Scripting } from './scripting.ts';

export const LIMITS = { threads: 2, warm: 1, memoryBytes: 64 * 1024 * 1024, resultBytes: 8 * 1024 * 1024 };

/** Scripting that ends with the file's tests. */
export function openScripting(limits: Partial<typeof LIMITS> = {}): Scripting {
  const scripting = createScripting({ ...LIMITS, ...limits });
  afterAll(() => scripting.close());
  return scripting;
}

export function scriptOf(source: string, more: Partial<Script> = {}): Script {
  return {
    name: 'test.lua',
    source,
    global: 'agent',
    directory: null,
    env: {},
    network: null,
    timeoutMs: 5_000,
    ...more,
  };
}

/** A script whose `resolve(args, context)` has this body. */
export function bodyOf(body: string, more: Partial<Script> = {}): Script {
  return scriptOf(`agent = {}\nfunction agent.resolve(args, context)\n${body}\nend`, more);
}
