import { afterAll, expect } from 'vitest';

/**
 * Vitest's setup of each file that shares its process with others: a file leaves the process as it found it. A daemon
 * in this process has made its files private, so the umask is restored; a changed environment fails the file.
 */
const umask = process.umask();
const environment = { ...process.env };

afterAll(() => {
  process.umask(umask);
  // Only names: values may be secret.
  const names = Object.keys({ ...environment, ...process.env });
  expect(names.filter((name) => process.env[name] !== environment[name])).toEqual([]);
});
