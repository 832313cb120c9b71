import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { locate } from './locate.ts';

describe('locate()', () => {
  const source = [
    '# top = 1',
    'bare = 1 # [not.a.table]',
    '"quoted key" = 2',
    'a . \'b.c\' . "\\u0064" = 1979-05-27 07:32:00',
    '[table]',
    'text = """',
    'fake = 1',
    '[fake]',
    'ends with a quote \\""""" # fake = 2',
    "literal = '''",
    "fake = ''",
    "''''",
    'list = [ # ]',
    '  "]", [1,',
    '  2], { x = 1,',
    '    y = "}" },',
    ']',
    'inline = { p = 1, q.r = "," }',
    '[ "table" . sub ]',
    'x = true',
    '[[items]]',
    'n = 1',
    '[items.sub]',
    'm = 1',
    '[[items]]',
    '[[items.deep]]',
    'n = 2',
    '[early.late]',
    '[early]',
    'z = 1',
  ].join('\n');
  const find = locate(source);

  test.each<[(string | number)[], number, string]>([
    [['bare'], 2, '1'],
    [['quoted key'], 3, '2'],
    [['a'], 4, 'a table'],
    [['a', 'b.c', 'd'], 4, '1979-05-27 07:32:00'],
    [['table'], 5, 'a table'],
    [['table', 'literal'], 10, "'''\nfake = ''\n''''"],
    [['table', 'list'], 13, 'a list'],
    [['table', 'list', 0], 14, '"]"'],
    [['table', 'list', 1, 1], 15, '2'],
    [['table', 'list', 2, 'y'], 16, '"}"'],
    [['table', 'inline'], 18, 'a table'],
    [['table', 'inline', 'q'], 18, 'a table'],
    [['table', 'inline', 'q', 'r'], 18, '","'],
    [['table', 'sub', 'x'], 20, 'true'],
    [['items'], 21, 'a list'],
    [['items', 0, 'n'], 22, '1'],
    [['items', 0, 'sub', 'm'], 24, '1'],
    [['items', 1], 25, 'a table'],
    [['items', 1, 'deep', 0, 'n'], 27, '2'],
    [['early'], 29, 'a table'],
    [['early', 'late'], 28, 'a table'],
    [['early', 'z'], 30, '1'],
  ])('finds %j on line %i', (path, line, text) => {
    parse(source);
    expect(find(path)).toEqual({ line, text, exact: true });
  });

  test('maps a missing key to the table around it', () => {
    expect(find(['table', 'fake'])).toMatchObject({ line: 5, exact: false });
    expect(find(['table', 'list', 7, 'x'])).toMatchObject({ line: 13, exact: false });
    expect(find(['fake'])).toMatchObject({ line: 1, exact: false });
    expect(locate('')([])).toEqual({ line: 1, text: 'a table', exact: true });
  });

  test('counts the lines of a file with CRLF and a byte order mark', () => {
    expect(locate('\uFEFF# x\r\n[a]\r\nb = 1\r\n')(['a', 'b'])).toEqual({ line: 3, text: '1', exact: true });
  });

  test('finds every key of a generated document', () => {
    fc.assert(
      fc.property(document, ({ text, keys }) => {
        const parsed = parse(text);
        const locateKey = locate(text);
        for (const { path, line } of keys) {
          expect(locateKey(path)).toMatchObject({ line, exact: true });
          expect(valueAt(parsed, path)).toBeDefined();
        }
      }),
      { numRuns: 300 },
    );
  });

  test('terminates on any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string()), (text, path) => {
        try {
          expect(locate(text)(path).line).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toHaveProperty('line');
        }
      }),
    );
  });
});

const word = fc.oneof(
  fc.stringMatching(/^[\w-]{1,5}$/),
  fc.string({ maxLength: 6 }).map((text) => text.replaceAll('_', '')),
);
const tricky = fc.constantFrom('[x]', 'k = 1', '# no', ']', '}', ',', '"', "'", '\\\\', '= 3', '[[y]]', '');
const lines = fc.array(tricky, { maxLength: 4 });
const scalar = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom('true', 'nan', '1e5', '07:32:00', '1979-05-27T07:32:00Z', "'[x] # \"'"),
  fc.string().map((text) => JSON.stringify(text).replaceAll('\x7f', '')),
  lines.map((parts) => `"""\n${parts.join('\n')}\\""""`),
  lines.map((parts) => `'''\n${parts.join('\n').replaceAll("'", '')}'''`),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }).map((items) => `[ # ] [x]\n${items.map((item) => `  ${item}, # ,]\n`).join('')}]`),
  fc
    .array(scalar, { maxLength: 3 })
    .map((items) => `{ ${items.map((item, index) => `k${index} = ${item}`).join(', ')} }`),
);
const table = fc.record({
  name: fc.array(word, { minLength: 1, maxLength: 3 }),
  isList: fc.boolean(),
  pairs: fc.uniqueArray(fc.tuple(fc.array(word, { minLength: 1, maxLength: 3 }), value), {
    selector: ([key]) => key[0],
    maxLength: 4,
  }),
  comments: fc.array(tricky, { maxLength: 2 }),
});

/** Tables with distinct first names, so that none redefines another, and the line of every key. */
const document = fc.uniqueArray(table, { selector: ({ name }) => name[0], maxLength: 4 }).map((tables) => {
  let text = '';
  const keys: { path: (string | number)[]; line: number }[] = [];
  const add = (path: (string | number)[], written: string) => {
    keys.push({ path, line: text.split('\n').length });
    text += `${written}\n`;
  };
  for (const { name, isList, pairs, comments } of tables) {
    text += comments.map((comment) => `# ${comment}\n`).join('');
    const path = isList ? [...name, 0] : name;
    add(path, isList ? `[[${writeKey(name)}]]` : `[${writeKey(name)}]`);
    for (const [key, written] of pairs) add([...path, ...key], `${writeKey(key)} = ${written} # k = 1`);
  }
  return { text, keys };
});

function writeKey(parts: readonly string[]): string {
  const written = parts.map((part) =>
    /^[\w-]+$/.test(part) ? part : JSON.stringify(part).replaceAll('\x7f', '\\u007f'),
  );
  return written.join(' . ');
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inside, key) => (inside as Record<string | number, unknown>)[key], value);
}
