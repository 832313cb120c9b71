import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';

describe('[members]', () => {
  test('accept every key, with paths relative to the file', () => {
    const source = `[members.lead]
provider = "scripted"
model = "m"
program = "lead.js"
instructions_file = "lead.md"
role = "boss"
workspace = "../work"
tools = ["send_message"]
node = "box"
labels = ["gpu"]
may_spawn = ["codex"]
budget = { tokens_per_day = 5, minutes = 2 }
fallback = ["codex", "llm:ollama/qwen3"]
[members.worker]
parent = "LEAD"
instructions = "work"
persona = "Guide"
arguments = { topic = "x" }
[agents.guide]
description = "d"
system_prompt = "s"`;
    const { members, cwd } = load(source);
    expect(members).toEqual([
      {
        name: 'lead',
        provider: 'scripted',
        model: 'm',
        program: join(cwd, 'lead.js'),
        maySpawn: ['codex'],
        budget: [
          { unit: 'seconds', period: 'total', amount: 120 },
          { unit: 'tokens', period: 'day', amount: 5 },
        ],
        fallback: ['codex', 'llm:ollama/qwen3'],
        instructions: null,
        instructionsFile: join(cwd, 'lead.md'),
        role: 'boss',
        parent: null,
        workspace: join(cwd, '../work'),
        tools: ['send_message'],
        persona: null,
        node: 'box',
        labels: ['gpu'],
        arguments: {},
        blocks: {},
      },
      {
        name: 'worker',
        provider: null,
        model: null,
        program: null,
        maySpawn: null,
        budget: null,
        fallback: null,
        instructions: 'work',
        instructionsFile: null,
        role: null,
        parent: 'lead',
        workspace: null,
        tools: null,
        persona: 'Guide',
        node: null,
        labels: [],
        arguments: { topic: 'x' },
        blocks: {},
      },
    ]);
  });

  test.each([
    ['[members.User]', '1: [members.User]: "User" is reserved'],
    ['[members.-x]', '1: [members.-x]: "-x" is not a valid name. Use 1 to 64 letters'],
    [`[members.${'x'.repeat(65)}]`, '1: [members.xxx'],
    ['[members.a]\nfallback = ["llm:"]', '2: [members.a] fallback[0] "llm:" is not PROVIDER or PROVIDER:MODEL.'],
    ['[members.a]\narguments = { x = "y" }', '2: [members.a] arguments must be used with "persona"'],
    [
      '[members.a]\npersona = "gide"\n[agents.guide]\ndescription = "d"\nsystem_prompt = "s"',
      '2: [members.a] persona must name a persona of [agents] (did you mean "guide"?)',
    ],
    [
      '[members.a]\n[members.A]',
      '2: [members] A is the same name as [members.a], because names are not case-sensitive',
    ],
    ['[members.a]\nparent = "b"\n[members.bb]', '2: [members.a] parent must name another member; got "b"'],
    [
      '[members.a]\nparent = "led"\n[members.lead]',
      '2: [members.a] parent must name another member (did you mean "lead"?)',
    ],
    ['[members.a]\nparent = "a"', '2: [members.a] parent must not form a cycle; got "a"'],
    [
      '[members.a]\ninstructions = "x"\ninstructions_file = "y"',
      '3: [members.a] instructions_file cannot be combined with "instructions"',
    ],
    ['[members.a]\ntools = "x"', '2: [members.a] tools must be a list; got "x"'],
    ['[members.a]\npersonae = "x"', '2: unknown key "personae" in [members.a]'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });

  test('are sorted parents first, in any file order', () => {
    const parents = fc.array(fc.nat(), { minLength: 1, maxLength: 8 }).chain((picks) => {
      const tree = picks.map((pick, index) => ({ name: `m${index}`, parent: index === 0 ? null : `m${pick % index}` }));
      return fc.shuffledSubarray(tree, { minLength: tree.length });
    });
    fc.assert(
      fc.property(parents, (tree) => {
        const source = tree
          .map(({ name, parent }) => `[members.${name}]\n${parent ? `parent = "${parent}"` : ''}`)
          .join('\n');
        const seen = new Set<string | null>([null]);
        for (const { name, parent } of load(source).members) {
          expect(seen).toContain(parent);
          seen.add(name);
        }
        expect(seen.size).toBe(tree.length + 1);
      }),
    );
  });
});
