import { Worker } from 'node:worker_threads';
import { SubstratError } from '../../core/errors.ts';
import type { Failure, Job } from '../../core/thread.ts';
import { createThreadPool, type ThreadPool } from '../../core/thread-pool.ts';
import { type Extracted, plain } from './extracted.ts';
import type { Format } from './format.ts';
import { extractMarkdown, type FrontMatter, frontMatterOf } from './markdown.ts';
import { decodeText } from './text.ts';
import type { Extraction, Source } from './worker.ts';

export interface ExtractorLimits {
  readonly timeoutMs: number;
  /** Limit per thread, including memory outside its heap. */
  readonly memoryBytes: number;
  readonly threads: number;
}

const DEFAULT_LIMITS: ExtractorLimits = { timeoutMs: 20_000, memoryBytes: 400 * 1024 * 1024, threads: 2 };

/** Front matter has a few lines and parses in a millisecond; hostile front matter can take minutes. */
const FRONT_MATTER_MS = 5_000;
const WORKER = new URL(`./worker${import.meta.filename.slice(-3)}`, import.meta.url);

/**
 * Reads text in this thread. Third-party parsers run in threads that are terminated when they exceed a time or memory
 * limit.
 */
export class Extractor {
  readonly #timeoutMs: number;
  readonly #pool: ThreadPool<{ worker: Worker }>;

  constructor({ timeoutMs, memoryBytes, threads }: ExtractorLimits = DEFAULT_LIMITS) {
    this.#timeoutMs = timeoutMs;
    this.#pool = createThreadPool({
      start: () => startReader(memoryBytes),
      threads,
      warm: threads,
      patienceMs: 0,
      limitFrom: 'start',
      memoryBytes,
    });
  }

  /** Throws a sentence about this file only. */
  async extract(format: Format, bytes: Buffer): Promise<Extracted> {
    const { kind, grammar } = format;
    if (kind === 'text') return plain(decodeText(bytes));
    if (kind === 'markdown') {
      const body = decodeText(bytes);
      const source = frontMatterOf(body);
      return extractMarkdown(body, source === null ? null : await this.parseFrontMatter(source));
    }
    const outcome = await this.#pool.run(toJob({ kind, grammar, bytes }, this.#timeoutMs));
    return (outcome as { extracted: Extracted }).extracted;
  }

  /** Returns null if it cannot be parsed; with `strict`, also if it has errors. */
  async parseFrontMatter(source: string, { strict = false } = {}): Promise<FrontMatter | null> {
    const timeoutMs = Math.min(this.#timeoutMs, FRONT_MATTER_MS);
    const outcome = await this.#pool.run(toJob({ frontMatter: source, strict }, timeoutMs));
    return (outcome as { frontMatter: FrontMatter | null }).frontMatter;
  }

  /** Terminates every thread; documents being read fail. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** The thread has no environment, so a malicious file finds no secrets. The parsers' output is discarded. */
function startReader(memoryBytes: number): { worker: Worker } {
  const maxOldGenerationSizeMb = Math.ceil(memoryBytes / 1024 / 1024);
  const worker = new Worker(WORKER, {
    env: {},
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  return { worker };
}

function toJob(source: Source, timeoutMs: number): Job<{ worker: Worker }, Extraction> {
  return {
    message: source,
    timeoutMs,
    receive(message) {
      const outcome = message as Extraction;
      return 'error' in outcome ? { error: unreadable(`it cannot be read: ${outcome.error}`) } : { value: outcome };
    },
    toError: (failure, cause) => toError(failure, cause, timeoutMs),
  };
}

function toError(failure: Failure, cause: (Error & { code?: string }) | null, timeoutMs: number): SubstratError {
  if (failure === 'closed') return new SubstratError('not_running', 'the program is shutting down');
  if (failure === 'too long') return unreadable(`reading it timed out after ${timeoutMs / 1000} seconds`);
  if (failure === 'too large' || cause?.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return unreadable('reading it took too much memory');
  return unreadable(cause === null ? 'the thread that read it ended' : `it cannot be read: ${cause.message}`);
}

function unreadable(reason: string): SubstratError {
  return new SubstratError('unsupported', reason);
}
