import { SERVER } from '../calls.ts';
import type { Turn } from '../provider.ts';

/**
 * Named, so that it gets no others: its subagents, its own messages to other sessions, its timers and its worktrees
 * would act outside of Substrat.
 */
export const OWN_TOOLS = ['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep', 'NotebookEdit'];

/**
 * With policies, it asks over its stdin and stdout about every call of its own tools, after the hook has decided. Without
 * these rules, it would read files and run commands such as `ls` without an answer of the hook.
 */
const judged = [
  ...['--permission-mode', 'default', '--permission-prompt-tool', 'stdio'],
  ...['--settings', JSON.stringify({ permissions: { ask: OWN_TOOLS } })],
];

export interface Given {
  readonly ownTools: boolean;
  readonly confined: boolean;
  /** The file with the agent's instructions. */
  readonly instructions: string;
}

/** The command line of the headless mode; the prompt is the first message of its stdin. */
export function turnArguments(
  { ownTools, confined, instructions }: Given,
  { model, launch, guard }: Pick<Turn, 'model' | 'launch' | 'guard'>,
  session: string | null,
): string[] {
  const tools = ownTools ? OWN_TOOLS : [];
  return [
    ...['-p', '--input-format', 'stream-json', '--replay-user-messages'],
    ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
    ...(model === null ? [] : ['--model', model]),
    // Without own tools there is nothing to tell a model about them.
    ownTools ? '--append-system-prompt-file' : '--system-prompt-file',
    instructions,
    ...(confined ? [] : ['--mcp-config', launch.mcpConfig]),
    '--strict-mcp-config',
    // Neither the person's settings nor those of the workspace apply, because an agent could write the latter.
    ...['--setting-sources', ''],
    ...['--tools', tools.join(',')],
    // Nobody can be asked. In a sandbox everything is allowed; elsewhere these tools are, and the rest is refused.
    ...(guard ? judged : ['--permission-mode', confined && ownTools ? 'bypassPermissions' : 'dontAsk']),
    ...['--allowedTools', [...(guard ? [] : tools), `mcp__${SERVER}`].join(',')],
    ...(session === null ? [] : ['--resume', session]),
  ];
}
