// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureText, load } from './config.testkit.ts';
import { expand } from './expand.ts';

const expandText = (text: string, env = {}) => expand({ a: { b: text } }, ['a'], env);

describe('expand()', () => {
  test.each([
    ['${A}-${A}${B}', 'x-xy'],
    ['${A:-no}', 'x'],
    ['${NONE:-yes}', 'yes'],
    ['${EMPTY:-yes}', 'yes'],
    ['${NONE:-}', ''],
    ['[${EMPTY}]', '[]'],
    ['$${A}', '${A}'],
    ['$A $ {A} 5$', '$A $ {A} 5$'],
    ['${NESTED}', '${A}'],
  ])('expands %j to %j', (text, expected) => {
    const env = { A: 'x', B: 'y', EMPTY: '', NESTED: '${A}' };
    expect(expandText(text, env)).toEqual({ value: { a: { b: expected } }, problems: [] });
  });

  test('keeps any text whose ${ is escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ':-') }), (text) => {
        fc.pre(!text.includes('$${'));
        const escaped = text.replaceAll('${', () => '$${');
        expect(expandText(escaped)).toEqual({ value: { a: { b: text } }, problems: [] });
      }),
    );
  });

  test('reports the line of a variable that is not set, even if its name is a property of every object', () => {
    const source = '[providers.scripted]\nargs = [\n  "${HOST}",\n  "${constructor}",\n]\n[server]\nbind = "${"\n';
    expect(failureText(source).split('\n')).toEqual([
      'substrat.toml:3: [providers.scripted] args[0] needs the environment variable HOST, which is not set',
      'substrat.toml:4: [providers.scripted] args[1] needs the environment variable constructor, which is not set',
      'substrat.toml:7: [server] bind has "${" without a variable name; write "$${" for a literal "${"',
    ]);
  });

  test('expands every string of a section', () => {
    const source = '[providers.scripted]\nargs = ["${A}"]\nenv = { K = "${A}" }\n[members.m]\nmodel = "${A}"';
    expect(load(source, { A: 'x' })).toMatchObject({
      providers: { scripted: { args: ['x'], env: { K: 'x' } } },
      members: [{ model: 'x' }],
    });
  });

  test('refuses deep nesting', () => {
    expect(failureText(`[daemon]\nx${'.x'.repeat(20_000)} = 1`)).toMatch(/^substrat\.toml:2: .* is nested too deep$/m);
    expect(failureText(`daemon = ${'['.repeat(900)}${']'.repeat(900)}`)).toMatch(/^substrat\.toml:1: /);
  });
});
