import picomatch from 'picomatch';

export interface Selection {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface Select {
  /** Whether the file at this path is wanted. */
  file(path: string): boolean;
  /** Whether anything below this directory could be wanted. */
  directory(path: string): boolean;
}

/** Globs match paths with slashes, relative to the root of the source. Dot files are not special. */
export function createSelect({ include, exclude }: Selection): Select {
  const isWanted = include.includes('**') ? () => true : matcher(include);
  const isUnwanted = matcher(exclude);
  return {
    file: (path) => isWanted(path) && !isUnwanted(path),
    // A pattern that excludes every file in a directory excludes the directory.
    directory: (path) => !isUnwanted(`${path}/\u{1}`) && !isUnwanted(path),
  };
}

function matcher(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false;
  return picomatch([...globs], { dot: true });
}
