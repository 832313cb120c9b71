import { Worker } from 'node:worker_threads';
import { SubstratError } from '../../core/errors.ts';
import { type Extracted, plain } from './extracted.ts';
import type { Format } from './format.ts';
import { extractMarkdown, type FrontMatter, frontMatterOf } from './markdown.ts';
import { decodeText } from './text.ts';
import type { Job, Outcome } from './worker.ts';

export interface ExtractorLimits {
  readonly timeoutMs: number;
  /** Of one thread: its heap and what it holds beside it. */
  readonly memoryBytes: number;
  readonly threads: number;
}

const DEFAULT_LIMITS: ExtractorLimits = { timeoutMs: 20_000, memoryBytes: 400 * 1024 * 1024, threads: 2 };

/** A few lines, which take a millisecond, or minutes when somebody means harm. */
const FRONT_MATTER_MS = 5_000;
const MEMORY_CHECK_MS = 100;
const SCRIPT = new URL(`./worker${import.meta.filename.slice(-3)}`, import.meta.url);

/** Text is read here; what a parser of somebody else reads, is read in threads that are ended when they take too long or too much. */
export class Extractor {
  readonly #limits: ExtractorLimits;
  readonly #workers = new Set<Worker>();
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #closed = false;

  constructor(limits: ExtractorLimits = DEFAULT_LIMITS) {
    this.#limits = limits;
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
    const outcome = await this.#inTurn({ kind, grammar, bytes });
    return (outcome as { extracted: Extracted }).extracted;
  }

  /** Null for what cannot be read; with `strict`, what has mistakes in it cannot. */
  async parseFrontMatter(source: string, { strict = false } = {}): Promise<FrontMatter | null> {
    const outcome = await this.#inTurn({ frontMatter: source, strict });
    return (outcome as { frontMatter: FrontMatter | null }).frontMatter;
  }

  /** Ends every thread; what is being read fails. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#idle.length = 0;
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }

  async #inTurn(job: Job): Promise<Exclude<Outcome, { error: string }>> {
    await this.#turn();
    try {
      if (this.#closed) throw new SubstratError('not_running', 'the program is ending');
      return await this.#inThread(job);
    } finally {
      this.#busy -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    while (this.#busy >= this.#limits.threads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#busy += 1;
  }

  async #inThread(job: Job): Promise<Exclude<Outcome, { error: string }>> {
    const worker = this.#idle.pop() ?? this.#start();
    try {
      const outcome = await this.#outcomeOf(worker, job);
      worker.unref();
      this.#idle.push(worker);
      if ('error' in outcome) throw new SubstratError('unsupported', `it cannot be read: ${outcome.error}`);
      return outcome;
    } catch (error) {
      if (!this.#idle.includes(worker)) await worker.terminate();
      throw error;
    }
  }

  #outcomeOf(worker: Worker, job: Job): Promise<Outcome> {
    const { memoryBytes } = this.#limits;
    const timeoutMs = Math.min(
      this.#limits.timeoutMs,
      'frontMatter' in job ? FRONT_MATTER_MS : Number.POSITIVE_INFINITY,
    );
    return new Promise<Outcome>((resolve, reject) => {
      const fail = (reason: string) => settle(() => reject(new SubstratError('unsupported', reason)));
      const timer = setTimeout(() => fail(`reading it took more than ${timeoutMs / 1000} seconds`), timeoutMs);
      const check = setInterval(() => {
        worker.getHeapStatistics().then(
          (heap) => {
            if (heap.used_heap_size + heap.external_memory > memoryBytes) fail('reading it took too much memory');
          },
          () => {},
        );
      }, MEMORY_CHECK_MS);
      const onMessage = (outcome: Outcome) => settle(() => resolve(outcome));
      const onError = (error: Error & { code?: string }) =>
        fail(
          error.code === 'ERR_WORKER_OUT_OF_MEMORY'
            ? 'reading it took too much memory'
            : `it cannot be read: ${error.message}`,
        );
      const onExit = () => fail('the thread that read it ended');
      function settle(then: () => void): void {
        clearTimeout(timer);
        clearInterval(check);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        then();
      }
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.ref();
      worker.postMessage(job);
    });
  }

  /** It gets no environment: whatever a file makes it do, there is no secret to be had. What parsers print, nobody reads. */
  #start(): Worker {
    const maxOldGenerationSizeMb = Math.ceil(this.#limits.memoryBytes / 1024 / 1024);
    const worker = new Worker(SCRIPT, {
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb },
    });
    this.#workers.add(worker);
    worker.on('exit', () => this.#workers.delete(worker));
    worker.on('error', () => {}); // one that is being ended may still say why
    worker.stdout.resume();
    worker.stderr.resume();
    return worker;
  }
}
