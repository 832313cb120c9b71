import { type Stats, statSync } from 'node:fs';

/** Why another user could have written this file; null if only the current user could. */
export function ownershipProblem(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  // Windows has no user ids; its files are protected by the access rules of their directory.
  const uid = process.getuid?.();
  if (stats === undefined || uid === undefined) return null;
  if (stats.uid !== uid) return `${path} is owned by another user (uid ${stats.uid})`;
  return isWritableByOthers(stats) ? `${path} is writable by others (run \`chmod go-w\` on it)` : null;
}

/** Many systems give each user a group with the same id and no other members. */
function isWritableByOthers({ mode, uid, gid }: Stats): boolean {
  const ownGroup = gid === uid && gid === process.getgid?.();
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !ownGroup);
}
