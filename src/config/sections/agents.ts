import * as z from 'zod';
import { keyOf, NAME } from '../../core/agent.ts';
import { type PathBase, table, text } from '../fields.ts';
import { script, scriptKeys } from '../script.ts';

const NAME_RULE = 'a name has 1 to 64 letters, digits, "_" or "-" and starts with a letter or digit';
const name = z.string().regex(NAME, NAME_RULE);

/** A persona of the configuration. `table` is its location, for error messages. */
type PersonaEntry = { readonly name: string; readonly table: string } & (TextPersona | ScriptPersona | ModulePersona);
export interface TextPersona {
  readonly kind: 'toml';
  readonly description: string;
  readonly tools: readonly string[];
  readonly system: string;
}
export interface ScriptPersona extends z.output<ReturnType<typeof script>> {
  readonly kind: 'lua';
}
export interface ModulePersona {
  readonly kind: 'ts';
  readonly path: string;
  readonly timeoutMs: number;
}

/**
 * Personas from texts, Lua scripts and modules. Names are unique across all of them. The derived type of a table with
 * known and free keys does not compile as a declaration, so it is written down.
 */
export const agents = ({ resolve }: PathBase): z.ZodType<PersonaEntry[]> => {
  const path = text.transform(resolve);
  return z
    .object({
      inline: z.record(name, inline).prefault({}),
      script: z.record(name, script(resolve)).prefault({}),
      module: z.record(name, table({ path, timeout: scriptKeys.timeout })).prefault({}),
    })
    .catchall(inlineOrPath(path))
    .prefault({})
    .transform((given, context): PersonaEntry[] => {
      const { inline: texts, script: scripts, module: modules, ...plain } = given;
      const spelled = new Map<string, string>();
      const entry = <Value>(where: string, key: string, value: Value) => {
        const path = where === '' ? [key] : [where, key];
        const found = `[${['agents', ...path].join('.')}]`;
        const taken = spelled.get(keyOf(key));
        const problem = (message: string) => context.addIssue({ code: 'custom', path, message });
        if (!NAME.test(key)) problem(`is not a valid name: ${NAME_RULE}`);
        else if (taken !== undefined) problem(`is the same name as ${taken}, because names are not case-sensitive`);
        else spelled.set(keyOf(key), found);
        return { name: key, table: found, ...value };
      };
      return [
        ...Object.entries(plain as Record<string, TextPersona | ScriptPersona>).map(([key, value]) =>
          entry('', key, value),
        ),
        ...Object.entries(texts).map(([key, value]) => entry('inline', key, value)),
        ...Object.entries(scripts).map(([key, value]) => entry('script', key, { kind: 'lua' as const, ...value })),
        ...Object.entries(modules).map(([key, { timeout, ...value }]) =>
          entry('module', key, { kind: 'ts' as const, ...value, timeoutMs: timeout * 1_000 }),
        ),
      ];
    })
    .describe('Personas: [agents.NAME], [agents.inline.NAME], [agents.script.NAME] and [agents.module.NAME].');
};

const inline = z
  .strictObject({ description: text, tools: z.array(text).default([]), system_prompt: text })
  .transform(({ system_prompt: system, ...entry }): TextPersona => ({ kind: 'toml', ...entry, system }));

/** A script in short form has no keys of its own, otherwise a misspelt `system_prompt` would be accepted as one. */
function inlineOrPath(path: z.ZodType<string, string>) {
  return z
    .strictObject({
      description: text.optional(),
      tools: z.array(text).optional(),
      system_prompt: text.optional(),
      path: path.optional(),
      timeout: scriptKeys.timeout,
      env: scriptKeys.env,
      network: scriptKeys.network,
    })
    .transform((entry, context): TextPersona | ScriptPersona => {
      const { description, tools = [], system_prompt: system, path: file, timeout, ...limits } = entry;
      const problem = (key: string, message: string) => context.addIssue({ code: 'custom', path: [key], message });
      if (file !== undefined) {
        if (system !== undefined) problem('system_prompt', 'cannot be combined with "path"');
        return { kind: 'lua', path: file, timeoutMs: timeout * 1_000, ...limits, config: {} };
      }
      if (description === undefined) problem('description', 'is missing');
      if (system === undefined) problem('system_prompt', 'is missing');
      return { kind: 'toml', description: description ?? '', tools, system: system ?? '' };
    });
}
