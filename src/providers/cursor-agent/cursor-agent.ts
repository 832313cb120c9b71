import { dirname, join } from 'node:path';
import { OWN_KINDS } from '../../core/own-tool.ts';
import { type CliOptions, cliProvider } from '../cli.ts';
import { turnEnvironment } from '../environment.ts';
import type { Provider, Turn } from '../provider.ts';
import { failed } from '../verdict.ts';
import { isLong, turnArguments } from './args.ts';
import { cursorAgent as about } from './describe.ts';
import { buildCursorDirectory, lendCursorFiles, workspacePermissions } from './files.ts';
import { personPermissions, prepareHome, trustWorkspace } from './home.ts';
import { cursorNeeds } from './needs.ts';
import { createParser } from './parse.ts';
import { explainRejection, type PermissionSource, refuseDenial, withOurs } from './permissions.ts';
import { createToolCounts } from './tools.ts';

export interface CursorAgentOptions extends CliOptions {
  /** Its own tools need no approval. */
  readonly force: boolean;
}

const CHAT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Turns of Cursor's program. In a sandbox, a directory of ours replaces the workspace's `.cursor`. */
export function cursorAgent(options: CursorAgentOptions): Provider {
  return cliProvider(options, {
    about,
    unjudged: OWN_KINDS,
    filesInWorkspace: true,
    files: (turn) => placeFiles(options, turn),
    // Without this its requests would not use the sandbox's proxy.
    env: () => (options.confined ? { NODE_USE_ENV_PROXY: '1' } : {}),
    needs: (turn) => cursorNeeds(turn, options.env, cursorDirectory(turn)),
    newSession: async (ask) => {
      const answer = await ask(['create-chat']);
      if ('type' in answer) return answer;
      const chat = answer.map((line) => line.trim()).findLast((line) => CHAT.test(line));
      return chat ?? failed('cursor-agent create-chat did not return a chat id.');
    },
    args: (turn, session) => turnArguments(options, turn, session),
    dialogue: (turn) => ({
      input: '',
      parse: createParser((tool, reason) => explainRejection(tool, reason, permissionSources(options, turn))),
    }),
    otherTools: createToolCounts(),
  });
}

async function placeFiles(options: CursorAgentOptions, turn: Turn): Promise<() => void> {
  const { workspace, instructions, prompt, launch } = turn;
  const longPrompt = isLong(prompt) ? prompt : null;
  const permissions = permissionSources(options, turn);
  refuseDenial(permissions);
  const files = {
    workspace,
    mcpConfig: launch.mcpConfig,
    instructions,
    longPrompt,
    permissions: withOurs(permissions),
  };
  if (!options.confined) {
    trustWorkspace(workspace, turnEnvironment(turn, options.env, options.extraEnv).HOME ?? '/');
    return lendCursorFiles(files);
  }
  prepareHome(turn, { ...options.env, ...options.extraEnv });
  await buildCursorDirectory(files, cursorDirectory(turn));
  return () => {};
}

/** The files whose rules decide what the program may do: the person's global one, then the workspace's. */
function permissionSources({ env, extraEnv }: CursorAgentOptions, { workspace }: Turn): PermissionSource[] {
  return [personPermissions({ ...env, ...extraEnv }), workspacePermissions(workspace)];
}

function cursorDirectory({ launch }: Turn): string {
  return join(dirname(launch.mcpConfig), 'cursor');
}
