// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { SubstratError } from '../core/errors.ts';
import { failure, failureText } from './config.testkit.ts';

const sectionNames = ['db', 'server', 'daemon', 'limits', 'sandbox', 'providers', 'members'];

describe('errors', () => {
  test('contain the file, line, key and value', () => {
    expect(failureText('\n[daemon]\nslot = 1\nturn_timeout = "soon"\nslots = 1.5\n').split('\n')).toEqual([
      'substrat.toml:3: unknown key "slot" in [daemon]; did you mean "slots"?',
      'substrat.toml:4: [daemon] turn_timeout must be a duration such as "30m" (units: ms, s, m, h, d); got "soon"',
      'substrat.toml:5: [daemon] slots must be a whole number from 1 to 1000; got 1.5',
    ]);
  });

  test('suggest the nearest section', () => {
    expect(failureText('[provider.x]\n')).toBe(
      'substrat.toml:1: unknown section [provider]; did you mean [providers]?',
    );
    expect(failureText('\nslots = 3\n')).toBe('substrat.toml:2: unknown key "slots" outside any section');
    expect(failureText('daemon = 3')).toBe('substrat.toml:1: [daemon] must be a table; got 3');
    expect(failureText('[[daemon]]')).toBe('substrat.toml:1: [daemon] must be a table; got a list');
  });

  test('show the line of a syntax error and nothing of the source', () => {
    const error = failure('[providers.scripted]\nenv = { KEY = "sk-secret }\n');
    expect(error).toMatchObject({ code: 'config' });
    expect(error).not.toHaveProperty('cause');
    expect(String(error)).toMatch(/substrat\.toml:2: /);
    expect(String(error)).not.toContain('sk-secret');
  });

  test.each(['a'.repeat(100_000), `${'a.'.repeat(50_000)}b`])('stay short for very long keys', (key) => {
    expect(failureText(`[daemon]\n${key} = 1\n[daemon.x]\n${key} = 1`)).toMatch(/^substrat\.toml:2: .{0,200}/);
  });

  test('stay on one line whatever a key contains', () => {
    expect(failureText('[members."a\\n\\u001b[1m"]').split('\n')).toHaveLength(1);
    expect(failureText('[members."a\\n\\u001b[1m"]')).not.toMatch(/\p{Cc}/u);
  });

  test('refuse __proto__ anywhere', () => {
    for (const table of ['', 'daemon.', 'providers.', 'providers.scripted.env.', 'members.']) {
      expect(failureText(`[${table}__proto__]`)).toMatch(/^substrat\.toml:1: .*__proto__/);
    }
  });

  test('show file and line for a wrong key at every level', () => {
    const levels = [...sectionNames.slice(0, 5), 'providers', 'providers.scripted', 'members.a'];
    const key = fc.stringMatching(/^[a-z_0-9-]{1,12}$/).map((text) => `zz_${text}`);
    const header = fc.constantFrom(...levels);
    fc.assert(
      fc.property(header, key, fc.nat(5), fc.boolean(), (table, wrong, above, isQuoted) => {
        const source = `${'# x\n'.repeat(above)}[${table}]\n\n${isQuoted ? JSON.stringify(wrong) : wrong} = { a = 1 }\n`;
        const first = failureText(source)
          .split('\n')
          .find((line) => line.includes('unknown key'));
        // Some keys are near a known one, which is then suggested.
        expect(first?.split('; did you mean')[0]).toBe(
          `substrat.toml:${above + 3}: unknown key "${wrong}" in [${table}]`,
        );
      }),
    );
  });

  test('are SubstratErrors for any file content', () => {
    const pieces = [
      ...[
        '[',
        ']',
        '[[',
        ']]',
        '=',
        '.',
        ',',
        '{',
        '}',
        '"',
        '"""',
        "'",
        "'''",
        '\n',
        '\r\n',
        ' ',
        '#',
        '\\',
        '${',
        '$',
      ],
      ...[
        ...sectionNames,
        'tools',
        'path',
        'slots',
        'env',
        'x',
        '1',
        'true',
        '"none"',
        'nan',
        '1979-05-27',
        '__proto__',
      ],
    ];
    const source = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join('')),
      fc.uint8Array(),
      fc
        .dictionary(fc.constantFrom(...sectionNames), fc.dictionary(fc.string(), fc.jsonValue().filter(isInToml)))
        .map((tables) => stringify(tables)),
    );
    fc.assert(
      fc.property(source, (text) => {
        const error = failure(text);
        if (error === null) return;
        expect(error).toBeInstanceOf(SubstratError);
        expect(error).toMatchObject({ code: 'config' });
        expect(String(error)).toMatch(/substrat\.toml(:\d+)?: /);
      }),
      { numRuns: 500 },
    );
  });
});

describe('secrets', () => {
  test('never appear in an error, whether they come from the environment or from the file', () => {
    const secret = 'hunter2hunter2';
    const keys = ['daemon.slots', 'daemon.lease', 'server.bind', 'db.url', 'db.path', 'sandbox.mode', 'sandbox.roots'];
    const perName = [
      'providers.scripted.env',
      'providers.scripted.slots',
      'providers.scripted.prices',
      'members.a.parent',
      'members.a',
      'limits',
    ];
    for (const key of [...keys, ...perName]) {
      const message = failureText(`${key} = "://u:\${SECRET}@h"`, { SECRET: secret });
      expect(message, key).toMatch(/^substrat\.toml:1: |^$/);
      expect(message).not.toContain(secret);
    }
    for (const value of [
      `db = "postgres://u:${secret}@h/db"`,
      `db.url = "mysql://u:${secret}@h"`,
      `db.url = ["${secret}"]`,
    ]) {
      expect(failureText(value)).toMatch(/^substrat\.toml:1: /);
      expect(failureText(value)).not.toContain(secret);
    }
    for (const env of [
      `"${secret}"`,
      `{ A = ["${secret}"] }`,
      `{ A = "${secret}", "" = "${secret}" }`,
      `["${secret}"]`,
    ]) {
      expect(failureText(`[providers.scripted]\nenv = ${env}`)).toMatch(/^substrat\.toml:2: /);
      expect(failureText(`[providers.scripted]\nenv = ${env}`)).not.toContain(secret);
    }
  });
});

function isInToml(value: unknown): boolean {
  if (value === null) return false;
  return typeof value !== 'object' || Object.values(value).every(isInToml);
}
