import picomatch from 'picomatch';

export interface Selection {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface Select {
  /** Whether the file at this path is wanted. */
  file(path: string): boolean;
  /** Whether anything below this directory could be. */
  directory(path: string): boolean;
}

/** Globs on paths with slashes, relative to the root of the source. Names that begin with a dot are names like others. */
export function createSelect({ include, exclude }: Selection): Select {
  const isWanted = include.includes('**') ? () => true : matcher(include);
  const isUnwanted = matcher(exclude);
  return {
    file: (path) => isWanted(path) && !isUnwanted(path),
    // What every file in the directory would be excluded by, excludes the directory.
    directory: (path) => !isUnwanted(`${path}/\u{1}`) && !isUnwanted(path),
  };
}

function matcher(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false;
  return picomatch([...globs], { dot: true });
}
