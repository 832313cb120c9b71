import * as z from 'zod';
import { OWN_KINDS, ownToolName } from '../../core/own-tool.ts';
import { ACTIONS } from '../../core/policy.ts';
import { maybe, table, text } from '../fields.ts';

const OWN = ['own:*', ...OWN_KINDS.map(ownToolName)];

const tool = text.refine((name) => !name.startsWith('own:') || OWN.includes(name), {
  error: `must be a tool, "*", or one of ${OWN.join(', ')}`,
});

export const policies = z
  .record(
    z.string(),
    table({
      tool,
      action: z.enum(ACTIONS),
      agent: maybe(text),
      persona: maybe(text),
      arguments: z.record(z.string(), z.unknown()).default({}),
      by: maybe(z.array(text).min(1)),
    }).refine(({ tool, arguments: { command } }) => !/^own:(shell|\*)$/.test(tool) || !`${command}`.includes('*'), {
      path: ['arguments', 'command'],
      error: 'must be a whole command: "*" is not a pattern here, because a shell runs several commands in one line',
    }),
  )
  .prefault({})
  .transform((entries) => Object.entries(entries).map(([name, entry]) => ({ name, ...entry })))
  .describe('Which calls of tools agents may make, and for which a person is asked first.');
