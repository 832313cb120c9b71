/** The versions in an `If-Match`; null if there is none or it is `*`. An unknown ETag matches no version. */
export function versionsIn(match: string | undefined): readonly number[] | null {
  if (match === undefined || match.trim() === '*') return null;
  return match.split(',').flatMap((etag) => /^\s*"(\d{1,9})"\s*$/.exec(etag)?.slice(1).map(Number) ?? []);
}

export function etagOf(version: number): string {
  return `"${version}"`;
}
