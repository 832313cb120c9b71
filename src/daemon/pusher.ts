import type { QuestionView } from '../store/store.ts';
import type { Node } from './node.ts';
import { push, type Target, targetsOf } from './push.ts';

/** Another node may try again after this long, if this one died while it sent. */
const CLAIM_MS = 60_000;
/** Later than this, the question only waits in Needs me. */
const GIVE_UP_MS = 24 * 3600_000;
const SOONEST_MS = 1_000;
const LATEST_MS = 600_000;
const BATCH = 20;

/**
 * Tells people of open questions outside of Substrat, at least once each. What is left to tell is in the store, so that a restart or
 * another node goes on. Answered questions are not told any more.
 */
export class Pusher {
  readonly #node: Node;
  readonly #targets: readonly Target[];
  #unsubscribe: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #working: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(node: Node) {
    this.#node = node;
    this.#targets = targetsOf(node.config.notify);
  }

  start(): void {
    if (this.#targets.length === 0) return;
    this.#unsubscribe = this.#node.store.onChange(() => this.#look());
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    if (this.#timer) clearTimeout(this.#timer);
    await this.#working;
  }

  #look(): void {
    this.#again = true;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  async #work(): Promise<void> {
    const { store, clock, log } = this.#node;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        const due = await store.read((tx) => tx.questions.listUntold({ now: clock(), limit: BATCH }));
        for (const question of due) await this.#tell(question);
        if (due.length > 0) this.#again = true;
        this.#wait(await store.read((tx) => tx.questions.getNextTelling()));
      } catch (error) {
        log.warn({ error: (error as Error).message }, 'people could not be told of questions; it is tried again');
        this.#wait(clock() + SOONEST_MS);
      }
    }
  }

  async #tell(question: QuestionView): Promise<void> {
    const { store, clock, config, log } = this.#node;
    const { id, tellAt, createdAt } = question;
    const claim = { id, seen: tellAt ?? 0, until: clock() + CLAIM_MS };
    if (this.#stopped || !(await store.write((tx) => tx.questions.tryClaimTelling(claim)))) return;
    const told = new Set(question.told);
    for (const target of this.#targets.filter((one) => !told.has(one))) {
      try {
        await push(target, config, question, clock());
        told.add(target);
      } catch (error) {
        log.warn({ target, question: id, error: (error as Error).message }, 'a notification was not accepted');
      }
    }
    const now = clock();
    const isOver = told.size >= this.#targets.length || now - createdAt > GIVE_UP_MS;
    // The older it is, the longer until the next attempt.
    const delay = Math.min(LATEST_MS, Math.max(SOONEST_MS, now - createdAt));
    const next = { id, told: [...told], tellAt: isOver ? null : now + delay };
    await store.write((tx) => tx.questions.setTold(next));
  }

  #wait(at: number | null): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (at === null || this.#stopped) return;
    this.#timer = setTimeout(() => this.#look(), Math.min(LATEST_MS, Math.max(0, at - this.#node.clock())));
  }
}
