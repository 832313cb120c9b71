import type { Client, LiveEvent } from '../client/client.ts';
import { harmless, paint } from '../command-line/terminal.ts';
import { shorten } from '../core/text.ts';

/** Where it is shown, and for which request: its id, once it is sent. */
interface Showing {
  readonly agent: string;
  readonly request: Promise<string>;
  readonly write: (text: string) => void;
}

/**
 * Shows what an agent does for one request while it works: the text that it writes, and the tools that it calls. Its
 * other turns are not shown. Pieces may be missing; the answer is whole.
 */
export class WorkShown {
  readonly #client: Client;
  readonly #showing: Showing;
  readonly #stop = new AbortController();
  /** Whether each run that was seen works for the request. */
  readonly #ours = new Map<string, boolean>();
  #attempt = '';
  /** What was written since the last call. */
  #written = '';

  constructor(client: Client, showing: Showing) {
    this.#client = client;
    this.#showing = showing;
    // A missing daemon or agent is reported by the call that waits for the answer.
    this.#follow().catch(() => {});
  }

  /** Ends the showing, on a line of its own. Returns the text that was written since the last call. */
  end(): string {
    this.#stop.abort();
    const written = this.#written;
    this.#closeLine();
    return written;
  }

  async #follow(): Promise<void> {
    const { agent, request } = this.#showing;
    const { signal } = this.#stop;
    for await (const event of this.#client.followLive({ agent, signal })) {
      if (!(await this.#isOurs(event, await request)) || signal.aborted) continue;
      this.#show(event);
    }
  }

  async #isOurs({ runId, agentId }: LiveEvent, request: string): Promise<boolean> {
    const known = this.#ours.get(runId);
    if (known !== undefined) return known;
    const { items } = await this.#client.listRuns({ agent: agentId, limit: 5 });
    const serves = items.some(({ id, serves: served }) => id === runId && served === request);
    this.#ours.set(runId, serves);
    return serves;
  }

  #show({ type, runId, attempt, text, tool = '', isError = false }: LiveEvent): void {
    const { write } = this.#showing;
    const turn = `${runId} ${attempt}`;
    if (this.#attempt !== turn) {
      this.#closeLine();
      if (this.#attempt !== '' && attempt > 1) this.#line(`attempt ${attempt}`);
      this.#attempt = turn;
    }
    if (type === 'live_text') {
      this.#written += text;
      write(harmless(text));
    } else if (type === 'live_tool_call') this.#line(`> ${tool} ${shorten(text, 200)}`);
    else if (isError) this.#line(`  failed: ${shorten(text, 200)}`);
  }

  #line(text: string): void {
    this.#closeLine();
    this.#showing.write(`${harmless(paint('dim', text))}\n`);
  }

  #closeLine(): void {
    if (this.#written !== '' && !this.#written.endsWith('\n')) this.#showing.write('\n');
    this.#written = '';
  }
}
