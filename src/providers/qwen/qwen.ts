import { OWN_KINDS } from '../../core/own-tool.ts';
import { SERVER } from '../calls.ts';
import { createParser } from '../claude/parse.ts';
import { type CodingOptions, cliProvider } from '../cli.ts';
import { bearer, keepKeys, type ModelAccess } from '../model-access.ts';
import type { Provider } from '../provider.ts';
import { qwen as about } from './describe.ts';

const access: ModelAccess = {
  dialect: 'openai',
  variable: 'OPENAI_BASE_URL',
  url: 'https://api.openai.com/v1',
  keys: { OPENAI_API_KEY: bearer },
};

/** Goals of its own, and a tool with the name of one of ours. */
const EXCLUDED = ['create_goal', 'get_goal', 'update_goal', 'send_message', 'tool_search', 'agent', 'task'];

/** Turns of Qwen Code. Its stream is that of claude. */
export function qwen(given: CodingOptions): Provider {
  const { options, endpoints } = keepKeys(given, access);
  return cliProvider(options, {
    about,
    unjudged: options.ownTools ? OWN_KINDS : [],
    filesInWorkspace: false,
    files: () => () => {},
    env: ({ model }) => ({
      QWEN_CODE_NO_RELAUNCH: '1',
      QWEN_CODE_SUPPRESS_YOLO_WARNING: '1',
      ...(model !== null && { OPENAI_MODEL: model }),
    }),
    needs: () => (endpoints.length > 0 ? { endpoints } : {}),
    args: (turn, session) => [
      ...['--bare', '-o', 'stream-json', '--include-partial-messages', '--auth-type', 'openai'],
      ...(turn.model === null ? [] : ['-m', turn.model]),
      ...[options.ownTools ? '--append-system-prompt' : '--system-prompt', turn.instructions],
      ...['--mcp-config', turn.launch.mcpConfig, '--allowed-mcp-server-names', SERVER],
      // Nobody can be asked; the sandbox confines it.
      ...['--approval-mode', 'yolo', ...EXCLUDED.flatMap((tool) => ['--exclude-tools', tool])],
      ...(options.ownTools ? [] : ['--core-tools', 'none']),
      ...(session === null ? [] : ['--resume', session]),
    ],
    dialogue: (turn) => ({ input: turn.prompt, parse: createParser(turn.session, { usagePerMessage: true }) }),
  });
}
