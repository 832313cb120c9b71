import { count, table } from '../fields.ts';

const MB = 1024 * 1024;

export const backup = table({
  max_file_mb: count({ fallback: 256, min: 1, max: 1_000_000 }),
  max_home_mb: count({ fallback: 4096, min: 1, max: 10_000_000 }),
  max_entries: count({ fallback: 200_000, min: 1, max: 2_000_000 }),
})
  .prefault({})
  .transform(({ maxFileMb, maxHomeMb, maxEntries }) => ({
    maxFileBytes: maxFileMb * MB,
    maxHomeBytes: maxHomeMb * MB,
    maxEntries,
  }))
  .describe("Limits for agents' private homes in a backup. Files beyond them are left out and listed.");
