import type { Mutation } from './mutations.ts';

/**
 * The mutations that compile, found with few compiler runs: mutations of different files are checked together.
 * `faultyFiles` returns the files with errors when all given mutations are applied at once.
 */
export async function compiling(
  mutations: readonly Mutation[],
  faultyFiles: (applied: readonly Mutation[]) => Promise<ReadonlySet<string>>,
): Promise<Mutation[]> {
  if (mutations.length === 0) return [];
  const faulty = await faultyFiles(mutations);
  if (faulty.size === 0) return [...mutations];
  const rest = mutations.filter(({ path }) => !faulty.has(path));
  if (rest.length < mutations.length) return compiling(rest, faultyFiles);
  // The error is in a file that uses one of them.
  if (rest.length === 1) return [];
  const half = Math.ceil(rest.length / 2);
  return [...(await compiling(rest.slice(0, half), faultyFiles)), ...(await compiling(rest.slice(half), faultyFiles))];
}

/** The first mutation of each file, in draw order. */
export function ofDifferentFiles(mutations: readonly Mutation[], most: number): Mutation[] {
  const first = new Map<string, Mutation>();
  for (const one of mutations) if (!first.has(one.path) && first.size < most) first.set(one.path, one);
  return [...first.values()];
}
