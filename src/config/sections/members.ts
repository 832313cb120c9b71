import * as z from 'zod';
import { checkName, keyOf } from '../../core/agent.ts';
import { LABEL, LABEL_RULE, MAX_BLOCK } from '../../core/memory.ts';
import { readChoice } from '../../core/provider-choice.ts';
import { line, maybe, oneLine, type PathBase, table, text } from '../fields.ts';
import { nearest } from '../nearest.ts';
import { budget } from './budget.ts';

const agentName = z.string().superRefine((name, context) => {
  try {
    checkName(name);
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : String(error));
  }
});

const choice = oneLine.superRefine((name, context) => {
  try {
    readChoice(name);
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : String(error));
  }
});

export const members = ({ resolve }: PathBase) =>
  z
    .record(agentName, member(resolve))
    .prefault({})
    .transform((entries, context) => {
      const list = Object.entries(entries).map(([name, entry]) => ({ name, ...entry }));
      const problem = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
      return parentsFirst(withKnownParents(list, problem), problem);
    })
    .describe('Agents that exist from the start, parents before their children.');

function member(resolve: PathBase['resolve']) {
  const path = text.transform(resolve);
  return table({
    provider: maybe(text),
    model: maybe(oneLine.min(1, 'must not be empty')),
    program: maybe(path),
    may_spawn: maybe(z.array(choice)),
    fallback: maybe(z.array(choice)),
    instructions: maybe(text),
    instructions_file: maybe(path),
    role: maybe(oneLine.min(1, 'must not be empty')),
    parent: maybe(text),
    workspace: maybe(path),
    tools: maybe(z.array(text)),
    persona: maybe(text),
    node: maybe(text),
    budget: maybe(budget),
    labels: z.array(text).default([]),
    arguments: z.record(text, line).default({}),
    blocks: z.record(z.string().regex(LABEL, LABEL_RULE), line.max(MAX_BLOCK)).default({}),
  })
    .refine(({ instructions, instructionsFile }) => instructions === null || instructionsFile === null, {
      path: ['instructions_file'],
      error: 'cannot be combined with "instructions"',
    })
    .refine(({ persona, arguments: given }) => persona !== null || Object.keys(given).length === 0, {
      path: ['arguments'],
      error: 'must be used with "persona"',
    });
}

type Problem = (path: PropertyKey[], message: string) => void;

interface Related {
  readonly name: string;
  readonly parent: string | null;
}

/** Names are case-insensitive, as for agents. A parent is returned as spelled in its declaration. */
function withKnownParents<Member extends Related>(list: readonly Member[], problem: Problem): Member[] {
  const spelled = new Map<string, string>();
  for (const { name } of list) {
    const taken = spelled.get(keyOf(name));
    if (taken === undefined) spelled.set(keyOf(name), name);
    else problem([name], `is the same name as [members.${taken}], because names are not case-sensitive`);
  }
  return list.map((member) => {
    if (member.parent === null) return member;
    const parent = spelled.get(keyOf(member.parent));
    if (parent !== undefined) return { ...member, parent };
    const close = nearest(
      member.parent,
      [...spelled.values()].filter((name) => name !== member.name),
    );
    problem([member.name, 'parent'], `must name another member${close === null ? '' : ` (did you mean "${close}"?)`}`);
    return { ...member, parent: null };
  });
}

function parentsFirst<Member extends Related>(list: readonly Member[], problem: Problem): Member[] {
  const byParent = Map.groupBy(list, ({ parent }) => parent);
  const ordered = [...(byParent.get(null) ?? [])];
  for (const { name } of ordered) ordered.push(...(byParent.get(name) ?? []));
  for (const { name } of list.filter((member) => !ordered.includes(member))) {
    problem([name, 'parent'], 'must not form a cycle');
  }
  return ordered;
}
