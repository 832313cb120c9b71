import { afterAll } from 'vitest';
import { openScripting as open, type Script, type Scripting } from './scripting.ts';

/** Scripting that is closed after the file's tests. */
export function openScripting(): Scripting {
  const scripting = open({ threads: 2 });
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
    timeoutMs: 15_000,
    ...more,
  };
}

/** A script whose `resolve(args, context)` has this body. */
export function bodyOf(body: string, more: Partial<Script> = {}): Script {
  return scriptOf(`agent = {}\nfunction agent.resolve(args, context)\n${body}\nend`, more);
}
