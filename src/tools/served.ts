import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { describeProblems } from '../core/validation.ts';
import type { CustomTool, CustomTools } from './custom.ts';
import {
  GET_DESCRIPTION,
  getInput,
  SEARCH_DESCRIPTION,
  SOURCES_DESCRIPTION,
  searchInput,
  sourcesInput,
} from './knowledge.ts';

/** A tool for HTTP clients that are not agents: seed 004's tools and the scripts of the configuration. */
export interface ServedTool {
  readonly name: string;
  readonly description: string;
  /** A built-in tool. The others return `{result}`. */
  readonly builtin: boolean;
  /** JSON schema of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Throws a `SubstratError`: `bad_request`, `tool_error`, `timeout` … */
  call(args: unknown): Promise<Readonly<Record<string, unknown>>>;
}

/** The served tools, in order. `more` is called each time, so that tools can change. */
export function createServedTools(
  knowledge: Knowledge,
  more: () => Promise<Pick<CustomTools, 'list' | 'onChange'>>,
): ServedTools {
  const builtin = [
    serve('search', SEARCH_DESCRIPTION, searchInput, (input) => knowledge.search(input)),
    serve('get', GET_DESCRIPTION, getInput, ({ id }) => knowledge.get(id)),
    serve('sources', SOURCES_DESCRIPTION, sourcesInput, () => knowledge.sources()),
  ];
  return {
    list: async () => [...builtin, ...(await more()).list().map(toServed)],
    onChange: async (listener) => (await more()).onChange(listener),
  };
}

export interface ServedTools {
  list(): Promise<readonly ServedTool[]>;
  onChange(listener: () => void): Promise<() => void>;
}

/** Wraps a custom tool, whose result can be anything. */
function toServed({ name, description, input, call }: CustomTool): ServedTool {
  return {
    name,
    description,
    builtin: false,
    parameters: z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>,
    call: async (args) => ({ result: await call(args) }),
  };
}

function serve<I extends z.ZodObject>(
  name: string,
  description: string,
  input: I,
  run: (input: z.infer<I>) => Promise<object>,
): ServedTool {
  return {
    name,
    description,
    builtin: true,
    parameters: z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>,
    call: async (args) => {
      const parsed = input.safeParse(args ?? {});
      if (!parsed.success) throw new SubstratError('bad_request', `${describeProblems(parsed.error)}.`);
      return { ...(await run(parsed.data)) };
    },
  };
}
