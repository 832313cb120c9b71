import { PassThrough } from 'node:stream';
import type { Dialogue, Said } from '../cli.ts';
import type { Arrived, Turn } from '../provider.ts';
import { createSteering } from '../steering.ts';
import { failed } from '../verdict.ts';
import { createGuarding } from './guarding.ts';
import { createParser } from './parse.ts';
import { createToolServer } from './tool-server.ts';

/**
 * One turn over `stream-json` in both directions: stdin stays open for messages that arrive during the turn, until its
 * result. A message that came too late for the turn becomes a turn of its own, whose result is then awaited, too.
 */
export function createDialogue(turn: Turn, { toolsOverHttp }: { readonly toolsOverHttp: boolean }): Dialogue {
  const input = new PassThrough();
  const steering = createSteering();
  const parse = createParser(turn.session, { onReplay: steering.shown });
  const texts: string[] = [];
  const write = (line: object): void => {
    if (!input.writableEnded) input.write(`${JSON.stringify(line)}\n`);
  };
  const say = (text: string): void => {
    const message = { role: 'user', content: [{ type: 'text', text }] };
    write({ type: 'user', message, parent_tool_use_id: null });
  };
  const guarding = turn.guard && createGuarding(turn.guard, turn.workspace, (line) => write(line));
  const tools = toolsOverHttp ? createToolServer(write) : null;
  // The prompt waits until the program has confirmed its hook and has the tools.
  const awaited = [guarding, tools].filter((one) => one !== null);
  for (const one of awaited) one.begin();
  let missing = awaited.length;
  if (missing === 0) say(turn.prompt);

  function heard(line: string): Said[] {
    for (const one of awaited) {
      const state = one.heard(line);
      if (state === 'unknown') continue;
      if (state === 'failed') return finish(failed(one.failure));
      if (state === 'ready' && --missing === 0) say(turn.prompt);
      return [];
    }
    return parse(line).flatMap(finish);
  }

  function finish(said: Said): Said[] {
    if (said.type === 'done') {
      texts.push(said.text);
      if (steering.isWaiting()) return [];
    }
    if (said.type !== 'done' && said.type !== 'error') return [said];
    input.end();
    return [said.type === 'done' ? { ...said, text: texts.filter(Boolean).join('\n\n') } : said];
  }

  return {
    input,
    parse: heard,
    steer: (arrived: Arrived) => {
      if (input.writableEnded) return;
      steering.sent(arrived);
      say(arrived.text);
    },
  };
}
