import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { runSubstrat } from '../helpers/substrat.ts';

let home: string;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'doctor-'));
  path = join(home, 'substrat.db');
});
afterEach(() => rmSync(home, { recursive: true }));

test('doctor finds the programs of providers with `kind = "acp"`', async () => {
  writeFileSync(
    join(home, 'config.toml'),
    '[providers.there]\nkind = "acp"\ncommand = "sh"\n[providers.goose]\nkind = "acp"\n',
  );
  const { stdout } = await runSubstrat(['doctor', '--json'], { home, cwd: home });
  const { findings } = JSON.parse(stdout) as { findings: { what: string }[] };
  const found = (name: string) => findings.find(({ what }) => what === name);
  expect(found('there')).toMatchObject({ state: 'ok', detail: expect.stringMatching(/\/sh, /) });
  expect(found('goose')).toMatchObject({ state: 'warning', mend: 'Install it, or set `[providers.goose] command`.' });
});

test('doctor warns of a missing program only if it is configured or used, and names the others in one line', async () => {
  const examine = async (config: string) => {
    writeFileSync(join(home, 'config.toml'), config);
    const { stdout } = await runSubstrat(['doctor', '--json'], { home, cwd: home });
    return (JSON.parse(stdout) as { findings: { what: string; detail: string }[] }).findings;
  };
  const missing = '[providers.pi]\ncommand = "/nowhere/pi"\n';
  for (const config of [
    missing,
    `${missing}[members.helper]\nprovider = "qwen"\n[providers.qwen]\ncommand = "/nowhere/qwen"\n`,
  ]) {
    const findings = await examine(config);
    const named = config.includes('qwen') ? ['pi', 'qwen'] : ['pi'];
    for (const what of named)
      expect(findings).toContainEqual(
        expect.objectContaining({
          what,
          state: 'warning',
          detail: `/nowhere/${what} is not installed; agents that use it cannot run`,
        }),
      );
    const others = findings.find(({ what }) => what === 'agent programs');
    for (const what of named) expect(others?.detail).not.toMatch(new RegExp(`\\b${what}\\b`));
    expect(others?.detail).toMatch(/^not installed: .*cursor-agent/);
    expect(findings.filter(({ detail }) => detail.includes('not installed'))).toHaveLength(named.length + 1);
  }
});

describe('doctor on a store', () => {
  const examineStore = async () => {
    const { stdout } = await runSubstrat(['doctor', '--json'], { home });
    const { findings } = JSON.parse(stdout) as { findings: { what: string }[] };
    return findings.find(({ what }) => what === 'store');
  };
  test('that is valid shows its version', async () => {
    await (await openStore({ path })).close();
    const detail = expect.stringMatching(/intact, schema version \d+$/);
    expect(await examineStore()).toEqual({ what: 'store', state: 'ok', detail });
  });

  test('that is newer, damaged or not a store explains how to fix it', async () => {
    await (await openStore({ path })).close();
    const database = new Database(path);
    database.exec('update schema_version set version = 99');
    database.pragma('wal_checkpoint(truncate)');
    database.close();
    const newer = expect.stringMatching(/has schema version 99; this Substrat supports up to \d+$/);
    expect(await examineStore()).toMatchObject({
      state: 'problem',
      detail: newer,
      mend: expect.stringMatching(/^Update/),
    });

    const bytes = readFileSync(path);
    // Some pages in the middle, after the schema, which alone would show the damage.
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

describeOnPostgres('doctor on PostgreSQL', () => {
  test('reports whether the server can be reached, and its version', async () => {
    const database = await createDatabase();
    const config = join(home, 'config.toml');
    const examine = async (url: string) => {
      writeFileSync(config, `[db]\nurl = ${JSON.stringify(url)}\n`);
      const { stdout } = await runSubstrat(['doctor', '--json', '--config', config], { home });
      return (JSON.parse(stdout) as { findings: { what: string }[] }).findings.find(({ what }) => what === 'store');
    };
    const detail = (pattern: RegExp) => expect.stringMatching(pattern);
    expect(await examine(database.url)).toMatchObject({ state: 'ok', detail: detail(/PostgreSQL \d+.*, empty; /) });
    await (await openStore({ url: database.url })).close();
    expect(await examine(database.url)).toMatchObject({ state: 'ok', detail: detail(/, schema version \d+$/) });
    await database.drop();
    expect(await examine(database.url)).toMatchObject({ state: 'problem', detail: detail(/ cannot be reached: /) });
    const nowhere = 'postgres://someone:secret@localhost/none?host=/nowhere';
    const finding = await examine(nowhere);
    expect(finding).toMatchObject({ state: 'problem', detail: detail(/ cannot be reached: .*ENOENT/) });
    expect(JSON.stringify(finding)).not.toContain('secret');
  });
});

describe('doctor on cursor-agent', () => {
  const program = join(import.meta.dirname, '../fixtures/cursor-agent');
  const examine = async (deny: string[]) => {
    mkdirSync(join(home, '.cursor'), { recursive: true });
    writeFileSync(join(home, '.cursor/cli-config.json'), JSON.stringify({ permissions: { allow: [], deny } }));
    const table = `[providers.cursor-agent]\ncommand = ${JSON.stringify(program)}\nenv = { HOME = ${JSON.stringify(home)} }\n`;
    const config = join(home, 'config.toml');
    writeFileSync(config, table);
    const { stdout } = await runSubstrat(['doctor', '--json', '--config', config], { home });
    const { findings } = JSON.parse(stdout) as { findings: { what: string }[] };
    return findings.find(({ what }) => what === 'cursor-agent');
  };

  test("names the person's rules that deny Substrat's tools", async () => {
    const detail = `${join(home, '.cursor/cli-config.json')} denies tools of Substrat in permissions.deny: Mcp(substrat:spawn_agent)`;
    const finding = await examine(['Shell(rm)', 'Mcp(substrat:spawn_agent)', 'Mcp(other:*)']);
    expect(finding).toMatchObject({ state: 'warning', detail });
    expect(await examine(['Shell(rm)'])).toMatchObject({ state: 'ok' });
  });
});
