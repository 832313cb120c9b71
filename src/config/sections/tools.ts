import * as z from 'zod';
import { keyOf, NAME } from '../../core/agent.ts';
import type { PathBase } from '../fields.ts';
import { script } from '../script.ts';

export const tools = ({ resolve }: PathBase) =>
  z
    .strictObject({
      script: z
        .record(
          z.string().regex(NAME, 'a name has 1 to 64 letters, digits, "_" or "-" and starts with a letter or digit'),
          script(resolve),
        )
        .prefault({}),
    })
    .prefault({})
    .transform(({ script: scripts }, context) => {
      const spelled = new Map<string, string>();
      return Object.entries(scripts).map(([name, entry]) => {
        const taken = spelled.get(keyOf(name));
        if (taken !== undefined) {
          const message = `is the same name as [tools.script.${taken}], because names are not case-sensitive`;
          context.addIssue({ code: 'custom', path: ['script', name], message });
        }
        spelled.set(keyOf(name), name);
        return { name, ...entry };
      });
    })
    .describe('Tools that are Lua scripts: [tools.script.NAME].');
