import { PassThrough } from 'node:stream';
import * as z from 'zod';
import type { Dialogue, Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import type { Turn } from '../provider.ts';
import { failed } from '../verdict.ts';
import { createReader } from './read.ts';

const INITIALIZE = 1;
const THREAD = 2;
const TURN = 3;

const id = z.union([z.number(), z.string()]);
const line = z.looseObject({
  id: id.optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const thread = z.object({ thread: z.object({ id: z.string() }) });

/** One turn over JSON-RPC: initialize, start or resume the thread, start the turn. Its end closes stdin. */
export function createDialogue(turn: Turn, session: string | null): Dialogue {
  const input = new PassThrough();
  const send = (message: object) => input.write(`${JSON.stringify(message)}\n`);
  const reader = createReader();
  const clientInfo = { name: 'substrat', title: 'Substrat', version: '1' };
  send({ id: INITIALIZE, method: 'initialize', params: { clientInfo, capabilities: null } });

  function answered(number: z.infer<typeof id>, result: unknown): Said[] {
    if (number === INITIALIZE) {
      send({ method: 'initialized' });
      const common = {
        cwd: turn.workspace,
        approvalPolicy: 'never',
        sandbox: 'danger-full-access',
        developerInstructions: turn.instructions,
        ...(turn.model !== null && { model: turn.model }),
      };
      if (session === null) send({ id: THREAD, method: 'thread/start', params: common });
      else send({ id: THREAD, method: 'thread/resume', params: { threadId: session, excludeTurns: true, ...common } });
    }
    if (number !== THREAD) return [];
    const { data } = thread.safeParse(result);
    if (!data) return ended(failed('It did not name its thread.'));
    const text = { type: 'text', text: turn.prompt, text_elements: [] };
    send({ id: TURN, method: 'turn/start', params: { threadId: data.thread.id, input: [text] } });
    reader.begin(data.thread.id);
    return [];
  }

  function ended(...said: Said[]): Said[] {
    input.end();
    return said;
  }

  /** Nobody can be asked. */
  function refuse(number: z.infer<typeof id>, method: string): void {
    if (method.endsWith('Approval')) send({ id: number, result: { decision: 'decline' } });
    else if (method.startsWith('mcpServer/elicitation')) send({ id: number, result: { action: 'decline' } });
    else send({ id: number, error: { code: -32601, message: 'Nobody can be asked. Go on without an answer.' } });
  }

  return {
    input,
    parse: (text) => {
      const read = readEvent(line, text);
      if (!read) return [];
      if (read.method === undefined) {
        if (read.error) return ended(failed(read.error.message));
        return read.id === undefined ? [] : answered(read.id, read.result);
      }
      if (read.id !== undefined) refuse(read.id, read.method);
      const said = reader.read(read.method, read.params);
      return said.some(({ type }) => type === 'done' || type === 'error') ? ended(...said) : said;
    },
  };
}
