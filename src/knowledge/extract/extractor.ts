import { Worker } from 'node:worker_threads';
import { SubstratError } from '../../core/errors.ts';
import type { Failure, Job } from '../../core/thread.ts';
import { createThreadPool, type ThreadPool } from '../../core/thread-pool.ts';
import { type Extracted, plain } from './extracted.ts';
import type { Format } from './format.ts';
import { extractMarkdown, type FrontMatter, frontMatterOf } from './markdown.ts';
import { decodeText } from './text.ts';
import type { Outcome, Source } from './worker.ts';

export interface ExtractorLimits {
  readonly timeoutMs: number;
  /** Of one thread: its heap and what it holds beside it. */
  readonly memoryBytes: number;
  readonly threads: number;
}

const DEFAULT_LIMITS: ExtractorLimits = { timeoutMs: 20_000, memoryBytes: 400 * 1024 * 1024, threads: 2 };

/** A few lines, which take a millisecond, or minutes when somebody means harm. */
const FRONT_MATTER_MS = 5_000;
const WORKER = new URL(`./worker${import.meta.filename.slice(-3)}`, import.meta.url);

/** Text is read here; what a parser of somebody else reads, is read in threads that are ended when they take too long or too much. */
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

  /** Throws a sentence about this file alone. */
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

  /** Null for what cannot be read; with `strict`, what has mistakes in it cannot. */
  async parseFrontMatter(source: string, { strict = false } = {}): Promise<FrontMatter | null> {
    const timeoutMs = Math.min(this.#timeoutMs, FRONT_MATTER_MS);
    const outcome = await this.#pool.run(toJob({ frontMatter: source, strict }, timeoutMs));
    return (outcome as { frontMatter: FrontMatter | null }).frontMatter;
  }

  /** Ends every thread; what is being read fails. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** It gets no environment: whatever a file makes it do, there is no secret to be had. What parsers print, nobody reads. */
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

function toJob(source: Source, timeoutMs: number): Job<{ worker: Worker }, Outcome> {
  return {
    message: source,
    timeoutMs,
    receive(message) {
      const outcome = message as Outcome;
      return 'error' in outcome ? { error: unreadable(`it cannot be read: ${outcome.error}`) } : { value: outcome };
    },
    toError: (failure, cause) => toError(failure, cause, timeoutMs),
  };
}

function toError(failure: Failure, cause: (Error & { code?: string }) | null, timeoutMs: number): SubstratError {
  if (failure === 'closed') return new SubstratError('not_running', 'the program is ending');
  if (failure === 'too long') return unreadable(`reading it took more than ${timeoutMs / 1000} seconds`);
  if (failure === 'too large' || cause?.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return unreadable('reading it took too much memory');
  return unreadable(cause === null ? 'the thread that read it ended' : `it cannot be read: ${cause.message}`);
}

function unreadable(reason: string): SubstratError {
  return new SubstratError('unsupported', reason);
}
