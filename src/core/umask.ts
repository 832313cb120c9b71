/** Of whoever started this process, read before `keepOwnFilesPrivate` sets another. */
const theirs = process.umask();

/** From now on nobody but the owner can read what this process makes, unless it says otherwise. */
export function keepOwnFilesPrivate(): void {
  process.umask(0o077);
}

/**
 * Runs `make` with the umask of the user: for programs to start and files to make that are theirs. It must be synchronous,
 * because the umask belongs to the whole process.
 */
export function withUserUmask<T>(make: () => T): T {
  const own = process.umask(theirs);
  try {
    return make();
  } finally {
    process.umask(own);
  }
}
