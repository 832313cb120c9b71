import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';

describe('[policies]', () => {
  test('are read in order, with defaults', () => {
    const { policies } = load(
      '[policies.a]\ntool = "*"\naction = "deny"\n[policies.b]\ntool = "pay"\naction = "ask"\nby = ["ann"]\narguments = { to = "x*", n = 5 }\n',
    );
    expect(policies).toEqual([
      { name: 'a', tool: '*', action: 'deny', agent: null, persona: null, arguments: {}, by: null },
      { name: 'b', tool: 'pay', action: 'ask', agent: null, persona: null, arguments: { to: 'x*', n: 5 }, by: ['ann'] },
    ]);
  });

  test('a wrong action is an error with its line', () => {
    expect(failureText('[policies.a]\ntool = "pay"\naction = "maybe"\n')).toMatch(/3.*action/s);
  });
});
