import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Said } from '../../src/providers/cli.ts';

const streams = join(import.meta.dirname, '../fixtures/streams');

/** What a parser makes of a stream that the real program printed (`test/fixtures/streams`), without deltas. */
export function parseStream(name: string, parse: (line: string) => readonly Said[]): Said[] {
  const lines = readFileSync(join(streams, `${name}.jsonl`), 'utf8').split('\n');
  return lines.flatMap((line) => parse(line)).filter(({ type }) => type !== 'delta');
}

/** The same in one line per event: its type and what tells it apart. */
export function outline(said: readonly Said[]): string[] {
  return said.map((one) => {
    switch (one.type) {
      case 'tool_call':
        return `call ${one.name}${one.ours ? ' (ours)' : ''}`;
      case 'tool_result':
        return `${one.isError ? 'error' : 'result'}${one.ours ? ' (ours)' : ''}`;
      case 'usage':
        return `usage ${one.inputTokens} ${one.outputTokens}`;
      case 'text':
      case 'done':
        return `${one.type} ${one.text}`;
      case 'error':
        return `error ${one.kind}`;
      default:
        return one.type;
    }
  });
}
