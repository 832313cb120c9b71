import { realpathSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { JSON_LIMITS, parseBounded } from '../../core/json-bounds.ts';
import { cleanText, shorten } from '../../core/text.ts';
import { turnEnvironment, type Variables } from '../environment.ts';
import { type ProcessEnd, runProcess } from '../process.ts';
import type { Turn } from '../provider.ts';
import { maxLineBytes } from '../verdict.ts';
import type { Image } from './content.ts';
import type { WorkspaceTool } from './workspace-tools.ts';

/** What a call of a tool returned. */
export interface Returned {
  readonly text: string;
  readonly isError: boolean;
  readonly images: readonly Image[];
}

export interface Workspace {
  call(tool: WorkspaceTool, args: Readonly<Record<string, unknown>>): Promise<Returned>;
  close(): Promise<void>;
}

const HELPER = realpathSync(fileURLToPath(new URL('./workspace-process.cjs', import.meta.url)));
const MOST_TEXT = 60_000;
const MOST_STARTS = 10;
const PATIENCE_MS = 60_000;
const GRACE_MS = 10_000;

const answer = z.object({
  id: z.int(),
  text: z.string(),
  isError: z.boolean().default(false),
  images: z
    .array(z.object({ mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']), data: z.base64() }))
    .max(1)
    .default([]),
});

interface Helper {
  send(message: object): void;
  /** Resolves when it has ended; rejects with what made its start fail. */
  readonly ended: Promise<ProcessEnd | null>;
  end(): void;
}

/**
 * The workspace's tools of one turn, in one process inside the sandbox that starts with the first call and ends with the
 * turn. A process inside can end it, or answer in its place: an answer is accepted once, for a call that is open, in the
 * declared form, and cut.
 */
export function openWorkspace(turn: Turn, env: Variables, extraMs = GRACE_MS): Workspace {
  const open = new Map<number, (returned: Returned) => void>();
  let helper: Promise<Helper> | null = null;
  let starts = 0;
  let calls = 0;

  function take(line: string): void {
    const said = read(line);
    const settle = said && open.get(said.id);
    if (!settle) return;
    open.delete(said.id);
    const text = said.text.length <= MOST_TEXT ? said.text : `${said.text.slice(0, MOST_TEXT)}\n[cut: too long]`;
    settle({ text: cleanText(text), isError: said.isError, images: said.images });
  }

  async function start(): Promise<Helper> {
    starts += 1;
    const command = {
      file: process.execPath,
      args: ['--disable-sigusr1', HELPER],
      cwd: turn.workspace,
      env: turnEnvironment(turn, env),
    };
    const binds = [{ source: HELPER, target: HELPER, mode: 'ro' as const }];
    const confined = await turn.launch.confine(command, { binds });
    const input = new PassThrough();
    const stop = new AbortController();
    const signal = AbortSignal.any([turn.signal, stop.signal]);
    const run = async () => {
      const { onSpawn, spawner } = turn.launch;
      const limits = { timeoutMs: turn.timeoutMs, maxLineBytes };
      for await (const output of runProcess({ command: confined, input, signal, onSpawn, spawner, ...limits })) {
        if (output.type === 'line') take(output.text);
        else if (output.type === 'end') return output;
      }
      return null;
    };
    const ended = run();
    // Callers that wait for an answer see the failure.
    ended.catch(() => {});
    return { send: (message) => void input.write(`${JSON.stringify(message)}\n`), ended, end: () => stop.abort() };
  }

  async function call(tool: WorkspaceTool, args: Readonly<Record<string, unknown>>): Promise<Returned> {
    if (!helper && starts >= MOST_STARTS) return failed('The workspace tools were ended too often in this turn.');
    helper ??= start();
    const { send, ended, end } = await helper;
    const id = ++calls;
    const returned = new Promise<Returned>((resolve) => open.set(id, resolve));
    const seconds = tool === 'run_command' ? Number(args.timeout_seconds) : 0;
    const limit = Math.max(PATIENCE_MS, seconds * 1_000 + extraMs);
    const timer = setTimeout(end, limit);
    send({ id, tool, args });
    try {
      return await Promise.race([returned, ended.then((last) => gone(last))]);
    } finally {
      clearTimeout(timer);
      open.delete(id);
    }
  }

  function gone(last: ProcessEnd | null): Returned {
    helper = null;
    const stderr = last?.stderr ? ` ${shorten(last.stderr.trim(), 500)}` : '';
    return failed(`The workspace tools ended before the result arrived; the outcome is unknown.${stderr}`);
  }

  return {
    call,
    close: async () => {
      const running = await helper?.catch(() => null);
      running?.end();
      await running?.ended.catch(() => {});
    },
  };
}

function failed(text: string): Returned {
  return { text, isError: true, images: [] };
}

function read(line: string): z.output<typeof answer> | null {
  try {
    return answer.safeParse(parseBounded(line, JSON_LIMITS)).data ?? null;
  } catch {
    return null;
  }
}
