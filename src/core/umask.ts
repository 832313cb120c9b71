/** The inherited umask, read before `keepOwnFilesPrivate` changes it. */
const theirs = process.umask();

/** From now on, files this process creates are only readable by their owner, unless it sets another mode. */
export function keepOwnFilesPrivate(): void {
  process.umask(0o077);
}

/**
 * Runs `make` with the user's umask: for programs and files that belong to the user. `make` must be synchronous,
 * because the umask is process-wide.
 */
export function withUserUmask<T>(make: () => T): T {
  const own = process.umask(theirs);
  try {
    return make();
  } finally {
    process.umask(own);
  }
}
