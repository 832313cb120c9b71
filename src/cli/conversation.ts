import type { Agent, Client, LiveEvent, Message, Sent, SubstratEvent } from '../client/client.ts';
import { harmless, paint } from '../command-line/terminal.ts';
import { USER_ID } from '../core/agent.ts';
import { shorten } from '../core/text.ts';

interface Screen {
  readonly write: (text: string) => void;
  /** Removes the prompt before something is shown. */
  readonly interrupt: () => void;
  readonly prompt: () => void;
}

type Outcome = 'answered' | 'left';

/** A chat with one agent: shows its text and calls as they happen, and its messages once. */
export class Conversation {
  readonly #agent: Agent;
  readonly #screen: Screen;
  /** The run that is under way, and what it has written since its last call. */
  #run: string | null = null;
  #written = '';
  /** Runs whose message is shown already: pieces of their text may still arrive. */
  readonly #shown = new Set<string>();
  /** Ids of the requests that were answered before anybody waited for them. */
  readonly #answered = new Set<string>();
  /** The last request that the agent has not answered: what it goes on with after a question of its own. */
  #open: string | null = null;
  #waiting: ((outcome: Outcome) => void) | null = null;
  #isPrompting = false;

  constructor(agent: Agent, screen: Screen) {
    this.#agent = agent;
    this.#screen = screen;
  }

  ready(): void {
    this.#isPrompting = true;
    this.#screen.prompt();
  }

  /** Resolves when the agent has answered, or asks something itself, or the person gives up. */
  async answer(sending: Promise<Sent>): Promise<Outcome> {
    this.#isPrompting = false;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#waiting = resolve;
    const { messageId, answered } = await sending;
    // An answer to a question has no reply of its own: the agent goes on with what it was asked before.
    if (!answered) this.#open = messageId;
    if (this.#open === null || this.#answered.has(this.#open)) this.#end('answered');
    return promise;
  }

  /** Stops waiting. Returns false if nothing was awaited. */
  giveUp(): boolean {
    if (!this.#waiting) return false;
    this.#closeLine();
    this.#end('left');
    return true;
  }

  /** Shows what happens until the signal aborts. */
  async follow(client: Client, after: number | undefined, signal: AbortSignal): Promise<void> {
    const types = ['message_created', 'run_started', 'run_ended', 'run_retried'];
    const live = async () => {
      for await (const event of client.followLive({ agent: this.#agent.id, signal })) this.#showLive(event);
    };
    const stored = async () => {
      const query = { agent: this.#agent.id, types, signal, ...(after !== undefined && { after }) };
      for await (const event of client.followEvents(query)) this.#showEvent(event);
    };
    await Promise.all([live(), stored()]);
  }

  #showLive({ type, runId, text, tool = '', isError = false }: LiveEvent): void {
    if (this.#shown.has(runId)) return;
    if (type === 'live_text') {
      if (this.#written === '') this.#begin();
      this.#written += text;
      this.#screen.write(harmless(text));
      return;
    }
    this.#closeLine();
    if (type === 'live_tool_call') this.#line(paint('dim', `  ${tool} ${shorten(text, 200)}`));
    else if (isError) this.#line(paint('dim', `  failed: ${shorten(text, 200)}`));
  }

  #showEvent(event: SubstratEvent): void {
    if (event.type === 'run_started') this.#run = event.data.runId;
    else if (event.type === 'run_retried') this.#line(paint('dim', `  it will try again: ${event.data.error}`));
    else if (event.type === 'message_created') this.#showMessage(event.data.message, event.data.to);
  }

  #showMessage(message: Message, to: readonly string[]): void {
    if (message.from === USER_ID || !to.includes(USER_ID)) return;
    const isMine = message.from === this.#agent.handle;
    if (isMine && this.#run !== null && message.kind === 'reply') this.#shown.add(this.#run);
    const written = this.#written.trim();
    const text = message.text.trim();
    if (isMine && written !== '' && text.endsWith(written)) this.#closeLine();
    else if (isMine && written !== '' && written.endsWith(text)) this.#closeLine();
    else {
      this.#closeLine();
      this.#begin(message.from);
      this.#screen.write(`${harmless(text)}\n`);
    }
    if (message.inReplyTo !== null) this.#answered.add(message.inReplyTo);
    const isAnswer = message.inReplyTo !== null && message.inReplyTo === this.#open;
    if (isAnswer || (isMine && message.request === 'open')) this.#end('answered');
    else if (this.#isPrompting) this.#screen.prompt();
  }

  #begin(from = this.#agent.handle): void {
    if (this.#isPrompting) this.#screen.interrupt();
    this.#screen.write(harmless(`${paint('bold', from)}: `));
  }

  #line(text: string): void {
    if (this.#isPrompting) this.#screen.interrupt();
    this.#screen.write(`${harmless(text)}\n`);
    if (this.#isPrompting) this.#screen.prompt();
  }

  #closeLine(): void {
    if (this.#written !== '' && !this.#written.endsWith('\n')) this.#screen.write('\n');
    this.#written = '';
  }

  #end(outcome: Outcome): void {
    this.#waiting?.(outcome);
    this.#waiting = null;
  }
}
