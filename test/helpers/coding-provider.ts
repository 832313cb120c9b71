import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import type { CodingOptions } from '../../src/providers/cli.ts';
import {
  type Changes,
  changed,
  collect,
  makeTurn,
  type ProviderSubject,
  startedBy,
} from '../../src/providers/provider.testsuite.ts';
import type { Provider, Turn } from '../../src/providers/provider.ts';

/** A provider of a program with its own tools, with the stand-in `test/fixtures/NAME.mjs`. */
export function codingProvider(name: string, make: (options: CodingOptions) => Provider) {
  const program = join(import.meta.dirname, `../fixtures/${name}.mjs`);
  /** The home of the person. */
  const person = mkdtempSync(join(tmpdir(), `${name}-home-`));
  afterAll(() => rmSync(person, { recursive: true, maxRetries: 3 }));
  const env = { ...process.env, HOME: person } as Record<string, string>;
  const options: CodingOptions = { command: program, args: [], ownTools: true, env, extraEnv: {}, confined: false };

  function prepare(): Turn {
    const directory = mkdtempSync(join(tmpdir(), `${name}-`));
    onTestFinished(() => rmSync(directory, { recursive: true, maxRetries: 3 }));
    const turn = makeTurn(directory);
    writeFileSync(
      turn.launch.mcpConfig,
      '{"mcpServers":{"substrat":{"command":"bridge","args":["a"],"env":{"B":"c"}}}}',
    );
    return turn;
  }

  const subject: ProviderSubject = {
    name,
    playing: (scenario) => make({ ...options, extraEnv: { STAND_IN_SCENARIO: scenario } }),
    running: (file) => make({ ...options, command: file }),
    settings: (scenario) =>
      `command = ${JSON.stringify(program)}\nenv = { STAND_IN_SCENARIO = "${scenario}", HOME = ${JSON.stringify(person)} }`,
  };

  return {
    subject,
    person,
    options,
    /** The events of a turn. */
    run: (changes: Changes = {}, more: Partial<CodingOptions> = {}) =>
      collect(make({ ...options, ...more }).runTurn(changed(prepare(), changes))),
    /** The command of a turn and what it needs, without starting it. */
    async started(changes: Changes = {}, more: Partial<CodingOptions> = {}) {
      const turn = changed(prepare(), changes);
      return { ...(await startedBy(make({ ...options, ...more }), turn)), turn };
    },
  };
}
