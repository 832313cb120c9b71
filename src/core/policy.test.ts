import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ACTIONS, concernsOf, judge, type Meant, type Policy } from './policy.ts';

const X = { handle: 'x', persona: 'writer' };
const rule = (change: Partial<Policy>): Policy => ({
  name: 'p',
  tool: 'deploy',
  action: 'allow',
  agent: null,
  persona: null,
  arguments: {},
  by: null,
  ...change,
});
const verdict = (policies: Policy[], input = {}, line = [X], tool = 'deploy') =>
  judge(policies, line, tool, input).action;

describe('concernsOf()', () => {
  const concerned = (...policies: Policy[]) => concernsOf(policies, [X]).map(({ kind }) => kind);

  test('names the kinds of own tools that a policy asks about or denies', () => {
    expect(concerned(rule({ tool: 'own:shell', action: 'ask' }))).toEqual(['shell']);
    expect(concerned(rule({ tool: 'own:*', action: 'deny' }))).toEqual(['shell', 'read', 'write', 'other']);
    expect(concerned(rule({ tool: '*', action: 'ask' }))).toHaveLength(4);
    expect(concerned(rule({ tool: 'own:write', action: 'deny', arguments: { path: '/etc/*' } }))).toEqual(['write']);
  });

  test('ignores what allows, other tools and other agents', () => {
    const others = [rule({ action: 'deny' }), rule({ tool: 'own:*', action: 'deny', agent: 'y' })];
    expect(concerned(rule({ tool: '*', action: 'allow' }), ...others)).toEqual([]);
  });
});

describe('judge()', () => {
  test('counts what asks or denies for a call that does not say what it does, and nothing that allows', () => {
    const about = (tool: string, action: Policy['action'], key: string) =>
      verdict([rule({ tool, action, arguments: { [key]: 'a*' } })], { given: 1 }, [X], tool);
    expect(about('own:shell', 'deny', 'command')).toBe('deny');
    expect(about('own:write', 'ask', 'path')).toBe('ask');
    expect(about('own:write', 'ask', 'content')).toBe('allow');
    expect(about('own:read', 'deny', 'path')).toBe('allow');
    const everything = rule({ tool: 'own:write', action: 'deny' });
    const some = rule({ tool: 'own:write', action: 'allow', arguments: { path: '/a' } });
    expect(verdict([everything, some], { given: 1 }, [X], 'own:write')).toBe('deny');
  });

  test('counts a pattern that asks or denies for a list, and none that allows', () => {
    const about = (action: Policy['action']) =>
      verdict([rule({ action: 'ask' }), rule({ action, arguments: { to: 'a*' } })], { to: ['abc'] });
    expect(about('deny')).toBe('deny');
    expect(about('allow')).toBe('ask');
  });

  test('ranks all own tools between a tool and every tool, and allows no command by a pattern', () => {
    const every = rule({ tool: '*', action: 'deny' });
    const own = rule({ tool: 'own:*', action: 'ask' });
    const shell = (input: object, ...policies: Policy[]) => verdict([every, own, ...policies], input, [X], 'own:shell');
    expect(shell({})).toBe('ask');
    expect(shell({}, rule({ tool: 'own:shell' }))).toBe('allow');
    expect(verdict([every, own])).toBe('deny');
    const pattern = (tool: string) => rule({ tool, arguments: { command: 'ls*' } });
    expect(shell({ command: 'ls; rm -r .' }, pattern('own:shell'), pattern('*'))).toBe('ask');
    expect(shell({ command: 'ls' }, rule({ tool: 'own:shell', arguments: { command: 'ls' } }))).toBe('allow');
  });

  test('allows what no policy is about', () => {
    expect(verdict([rule({ action: 'deny', tool: 'other' })])).toBe('allow');
    expect(verdict([rule({ action: 'deny', agent: 'y' })])).toBe('allow');
    expect(verdict([rule({ action: 'deny', persona: 'reader' })])).toBe('allow');
    expect(verdict([rule({ action: 'deny', arguments: { to: 'a' } })], { to: 'b' })).toBe('allow');
    expect(verdict([rule({ action: 'deny', arguments: { to: 'a' } })], {})).toBe('allow');
  });

  test('exact arguments win over a pattern, a pattern over the tool, the tool over every tool', () => {
    const every = rule({ tool: '*', action: 'deny' });
    const tool = rule({ action: 'allow' });
    const pattern = rule({ action: 'ask', arguments: { to: 'prod-*' } });
    const exact = rule({ action: 'allow', arguments: { to: 'prod-1' } });
    expect(verdict([every], {}, [X], 'other')).toBe('deny');
    expect(verdict([every, tool])).toBe('allow');
    expect(verdict([every, tool, pattern], { to: 'prod-2' })).toBe('ask');
    expect(verdict([every, tool, pattern, exact], { to: 'prod-1' })).toBe('allow');
  });

  test('of equal ones, the one about the agent wins, then its persona, then the strictest', () => {
    const any = rule({ action: 'deny' });
    const persona = rule({ action: 'ask', persona: 'Writer' });
    const agent = rule({ action: 'allow', agent: 'X' });
    expect(verdict([any, persona])).toBe('ask');
    expect(verdict([any, persona, agent])).toBe('allow');
    expect(verdict([any, rule({ action: 'allow' }), rule({ action: 'ask' })])).toBe('deny');
  });

  test.each([
    ['prod-*', 'prod-1', true],
    ['prod-*', 'xprod-1', false],
    ['*-eu', 'prod-eu', true],
    ['*-eu', 'prod-eu; rm', false],
    ['a*a', 'a', false],
    ['a*b*c', 'a--b--c', true],
    ['a*b*c', 'a--c--b', false],
    ['*', '', true],
  ])('%s matches the whole value %s: %s', (pattern, value, fits) => {
    expect(verdict([rule({ action: 'deny', arguments: { to: pattern } })], { to: value })).toBe(
      fits ? 'deny' : 'allow',
    );
  });

  test('a value that is too long for a pattern is never allowed by it', () => {
    const to = `prod-${'x'.repeat(20_000)}`;
    const all = rule({ action: 'deny' });
    expect(verdict([all, rule({ action: 'allow', arguments: { to: 'prod-*' } })], { to })).toBe('deny');
    expect(verdict([rule({ action: 'ask', arguments: { to: 'nothing-*' } })], { to })).toBe('ask');
  });

  test('an exact value may be anything, in any order of keys', () => {
    const exact = rule({ action: 'deny', arguments: { argv: ['rm', { b: 1, a: 2 }] } });
    expect(verdict([exact], { argv: ['rm', { a: 2, b: 1 }] })).toBe('deny');
    expect(verdict([exact], { argv: ['rm'] })).toBe('allow');
  });

  test('takes a reference for what it means, in every spelling', () => {
    const about = (action: Policy['action'], to: string, meant: Meant, written = 'as-written') =>
      judge(
        [rule({ action: 'ask' }), rule({ action, arguments: { to } })],
        [X],
        'deploy',
        { to: written },
        { to: meant },
      ).action;
    const boss = { spellings: ['Boss', 'lead.boss'] };
    for (const to of ['boss', 'LEAD.BOSS', 'lead.*']) {
      expect(about('deny', to, boss)).toBe('deny');
      expect(about('allow', to, boss)).toBe('allow');
    }
    expect(about('deny', 'other', boss)).toBe('ask');
    // What is written also counts, but allows nothing.
    expect(about('deny', 'as-*', boss)).toBe('deny');
    expect(about('allow', 'as-*', boss)).toBe('ask');
    const unknown = { spellings: ['as-written'], unknown: true } as const;
    expect(about('deny', 'anything', unknown)).toBe('deny');
    expect(about('allow', 'as-written', unknown)).toBe('ask');
    const path = { spellings: ['/Srv/a'], cased: true } as const;
    expect([about('deny', '/Srv/a', path), about('deny', '/srv/a', path)]).toEqual(['deny', 'ask']);
    const leftOut = judge([rule({ action: 'deny', arguments: { to: 'boss' } })], [X], 'deploy', {}, { to: boss });
    expect(leftOut.action).toBe('deny');
  });

  test('asking a person never needs an approval', () => {
    expect(verdict([rule({ tool: '*', action: 'ask' })], {}, [X], 'ask_person')).toBe('allow');
    expect(verdict([rule({ tool: '*', action: 'deny' })], {}, [X], 'ask_person')).toBe('deny');
  });

  test('a child never exceeds its parent', () => {
    const policy = fc.record({
      name: fc.constant('p'),
      tool: fc.constantFrom('deploy', '*'),
      action: fc.constantFrom(...ACTIONS),
      agent: fc.constantFrom(null, 'parent', 'child'),
      persona: fc.constantFrom(null, 'writer'),
      arguments: fc.constantFrom({}, { to: 'a' }, { to: 'a*' }),
      by: fc.constant(null),
    });
    const parent = { handle: 'parent', persona: 'writer' };
    const child = { handle: 'child', persona: null };
    const strict = (action: (typeof ACTIONS)[number]) => ACTIONS.indexOf(action);
    fc.assert(
      fc.property(fc.array(policy), fc.constantFrom('a', 'ab'), (policies, to) => {
        const own = strict(judge(policies, [child, parent], 'deploy', { to }).action);
        expect(own).toBeGreaterThanOrEqual(strict(judge(policies, [parent], 'deploy', { to }).action));
      }),
    );
  });
});
