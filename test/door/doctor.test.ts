import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { runSubstrat } from '../helpers/substrat.ts';

let home: string;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'doctor-'));
  path = join(home, 'substrat.db');
});
afterEach(() => rmSync(home, { recursive: true }));

describe('doctor on a store', () => {
  const examineStore = async () => {
    const { stdout } = await runSubstrat(['doctor', '--json'], { home });
    const { findings } = JSON.parse(stdout) as { findings: { what: string }[] };
    return findings.find(({ what }) => what === 'store');
  };
  test('that is sound says its version', async () => {
    await (await openStore({ path })).close();
    const detail = expect.stringMatching(/sound, schema version \d+$/);
    expect(await examineStore()).toEqual({ what: 'store', state: 'ok', detail });
  });

  test('that is newer, damaged or none says how to mend it', async () => {
    await (await openStore({ path })).close();
    const database = new Database(path);
    database.exec('update schema_version set version = 99');
    database.pragma('wal_checkpoint(truncate)');
    database.close();
    const newer = expect.stringMatching(/has schema version 99, this Substrat knows \d+$/);
    expect(await examineStore()).toMatchObject({
      state: 'problem',
      detail: newer,
      mend: expect.stringMatching(/^Update/),
    });

    const bytes = readFileSync(path);
    // Some pages in the middle, behind the schema, which alone would tell.
    writeFileSync(path, bytes.fill(0x5a, 10 * 4096, 60 * 4096));
    const replace = expect.stringContaining('restore a backup with `substrat restore FILE --force`');
    expect(await examineStore()).toMatchObject({
      state: 'problem',
      detail: expect.stringMatching(/is damaged|malformed/),
      mend: replace,
    });

    writeFileSync(path, 'Dear diary, '.repeat(1000));
    expect(await examineStore()).toMatchObject({
      state: 'problem',
      detail: expect.stringMatching(/not a database/),
      mend: replace,
    });

    rmSync(path);
    mkdirSync(path);
    expect(await examineStore()).toMatchObject({ state: 'problem', mend: replace });
  });
});
