import { posix } from 'node:path';
import type { Mutation } from './mutations.ts';

/** What a test file executed without a mutant: functions as `path#name`, and its duration. */
export interface Covered {
  readonly test: string;
  readonly passed: boolean;
  readonly ms: number;
  readonly executed: readonly string[];
}

/**
 * The tests that can detect a mutation, nearest first: those of the file itself, of its room, the rules, the others.
 * Tests that do not execute the mutated function cannot detect it; if no test is known to execute it, all are tried.
 */
export function stagesOf({ path, within }: Mutation, all: readonly Covered[]): Covered[][] {
  const usable = all.filter(({ passed }) => passed);
  const inFunction = usable.filter(({ executed }) => within !== '' && executed.includes(`${path}#${within}`));
  const inFile = usable.filter(({ executed }) => executed.some((name) => name.startsWith(`${path}#`)));
  const able = inFunction.length > 0 ? inFunction : inFile.length > 0 ? inFile : usable;

  const own = path.replace(/\.ts$/, '.test.ts');
  const room = `${posix.dirname(path)}/`;
  const nearness = ({ test }: Covered) =>
    test === own ? 0 : test.startsWith(room) ? 1 : test.startsWith('test/rules/') ? 2 : 3;
  return [0, 1, 2, 3]
    .map((near) => able.filter((one) => nearness(one) === near).sort((a, b) => a.ms - b.ms))
    .filter((stage) => stage.length > 0);
}
