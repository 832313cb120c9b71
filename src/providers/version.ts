const VERSION = /\b(\d+)\.(\d+)\.(\d+)\b/;

/** For a program with a version such as 2.1.325: why one with this `--version` output cannot be used. */
export function olderThan(oldest: string, update: string): (answer: string) => string | null {
  return (answer) => {
    const found = VERSION.exec(answer)?.[0];
    if (found === undefined) return `It does not report its version; ${oldest} or newer is required.`;
    if (compare(found, oldest) >= 0) return null;
    return `It has version ${found}; ${oldest} or newer is required (${update}).`;
  };
}

function compare(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
