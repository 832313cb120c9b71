import { PassThrough } from 'node:stream';
import * as z from 'zod';
import type { Dialogue, Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import type { Arrived, Turn } from '../provider.ts';
import { createSteering } from '../steering.ts';
import { failed } from '../verdict.ts';
import { createParser } from './parse.ts';

const state = z.object({ sessionId: z.string() });
const line = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('response'),
    id: z.string().optional(),
    command: z.string(),
    success: z.boolean(),
    error: z.string().optional(),
    data: z.unknown().optional(),
  }),
  z.object({ type: z.literal('extension_ui_request'), id: z.string(), method: z.string() }),
]);
/** What an extension asks its user; the rest only informs. */
const QUESTIONS = ['select', 'confirm', 'input', 'editor'];

/** One turn over `--mode rpc`: its session, the prompt, and messages that arrive during the turn. Its end closes stdin. */
export function createDialogue(turn: Turn): Dialogue {
  const input = new PassThrough();
  const steering = createSteering();
  const parse = createParser({ onUserMessage: steering.shown });
  const send = (command: object): void => {
    if (!input.writableEnded) input.write(`${JSON.stringify(command)}\n`);
  };
  send({ id: 'state', type: 'get_state' });

  function ended(said: readonly Said[]): Said[] {
    if (said.some(({ type }) => type === 'done' || type === 'error')) input.end();
    return [...said];
  }

  function answered({ id, success, error, data }: Extract<z.infer<typeof line>, { type: 'response' }>): Said[] {
    if (id === 'steer') return [];
    if (!success) return ended([failed(error ?? 'It refused the prompt without a reason.')]);
    if (id !== 'state') return [];
    const { data: known } = state.safeParse(data);
    if (!known) return ended([failed('It did not name its session.')]);
    parse.begin(known.sessionId);
    send({ id: 'prompt', type: 'prompt', message: turn.prompt });
    return [];
  }

  return {
    input,
    parse: (text) => {
      const read = readEvent(line, text);
      if (read?.type === 'response') return answered(read);
      // Nobody can be asked.
      if (read && QUESTIONS.includes(read.method))
        send({ type: 'extension_ui_response', id: read.id, cancelled: true });
      return read ? [] : ended(parse.read(text));
    },
    steer: (arrived: Arrived) => {
      steering.sent(arrived);
      send({ id: 'steer', type: 'steer', message: arrived.text });
    },
  };
}
