import type { Agent } from '../core/agent.ts';
import type { Run } from '../core/run.ts';
import { shorten } from '../core/text.ts';
import type { Span, Tracer } from '../core/tracing.ts';
import type { DeliveryView } from '../store/store.ts';
import type { Tx } from './tx.ts';

/** Maximum number of provider-reported calls in progress, because a program can report anything. */
const MAX_CALLS = 1000;

/** What the spans of an attempt need to know of its claim; they are opened when the claim is committed. */
export interface ClaimTrace {
  /** The trace of the message that started the run, and those of the others it carries. */
  readonly parent: string | null;
  readonly links: readonly string[];
  readonly messages: number;
  /** When the prompt was built. */
  readonly built: { readonly from: number; readonly to: number };
}

export async function traceOf(
  tx: Tx,
  carried: readonly DeliveryView[],
  built: ClaimTrace['built'],
): Promise<ClaimTrace> {
  const trigger = carried.find((delivery) => delivery.deliveryKind !== 'news') ?? carried[0];
  // An answer by the daemon, such as at a deadline, continues the trace of the question.
  const asked = trigger?.inReplyTo && !trigger.trace ? await tx.messages.getMessage({ id: trigger.inReplyTo }) : null;
  const parent = trigger?.trace ?? asked?.trace ?? null;
  const others = new Set(carried.map(({ trace }) => trace).filter((trace) => trace !== null && trace !== parent));
  return { parent, links: [...others] as string[], messages: carried.length, built };
}

/** Opens the spans of an attempt below the message that started it, whenever and in whichever process it was posted. */
export function openRunSpans(
  tracer: Tracer,
  run: Run,
  agent: Agent,
  { parent, links, messages, built }: ClaimTrace,
  since: number,
): RunSpans {
  const span = startRunSpan(tracer, run, agent, { parent, links, at: since });
  span.child('claim', { 'substrat.run.id': run.id, 'substrat.node.id': run.nodeId }, since).end();
  span.child('build_prompt', { 'substrat.prompt.messages': messages }, built.from).end(built.to);
  return new RunSpans(span);
}

export function startRunSpan(tracer: Tracer, run: Run, agent: Agent, from: Parameters<Tracer['start']>[2]): Span {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': agent.provider,
    'gen_ai.agent.id': agent.id,
    'gen_ai.agent.name': agent.handle,
    'gen_ai.request.model': agent.model,
    'substrat.run.id': run.id,
    'substrat.run.attempt': run.attempt,
    'substrat.tree.id': run.treeId,
  };
  return tracer.start(`invoke_agent ${agent.handle}`, attributes, from);
}

/** The spans of an active attempt: run, step, tool. */
export class RunSpans {
  readonly run: Span;
  #step: { readonly number: number; readonly span: Span } | null = null;
  /** When the model last got a result: its next step began then, although it is reported later. */
  #resultAt: number | undefined;
  readonly #calls = new Map<string, Span>();
  readonly #tokens = { input: 0, output: 0 };
  #ended = false;

  constructor(run: Span) {
    this.run = run;
  }

  /** The span of that step; it starts where the previous one ends. */
  step(number: number): Span {
    if (this.#ended) return this.run;
    if (this.#step?.number === number) return this.#step.span;
    this.#step?.span.end(this.#resultAt);
    const span = this.run.child('step', { 'substrat.step': number }, this.#step ? this.#resultAt : undefined);
    this.#step = { number, span };
    return span;
  }

  /** A call of one of our tools. */
  tool(step: number, name: string, callId: string): Span {
    return this.step(step).child(`execute_tool ${name}`, toolAttributes(name, callId));
  }

  /** A call of one of the provider's own tools, as reported. */
  called(step: number, name: string, callId: string): void {
    if (this.#ended || this.#calls.has(callId) || this.#calls.size >= MAX_CALLS) return;
    this.#calls.set(callId, this.tool(step, shorten(name), shorten(callId)));
  }

  returned(callId: string, isError: boolean): void {
    const call = this.#calls.get(callId);
    if (isError) call?.fail('tool_error');
    call?.end();
    this.#calls.delete(callId);
  }

  hadResult(): void {
    this.#resultAt = Date.now();
  }

  used(input: number, output: number): void {
    this.#tokens.input += input;
    this.#tokens.output += output;
    this.run.set({
      'gen_ai.usage.input_tokens': this.#tokens.input,
      'gen_ai.usage.output_tokens': this.#tokens.output,
    });
  }

  /** Ends with the attempt's outcome, and an error code if it failed. */
  end(outcome: string, failure?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const call of this.#calls.values()) {
      call.fail('cut_off');
      call.end();
    }
    this.#step?.span.end();
    this.run.set({ 'substrat.run.outcome': outcome });
    if (failure !== undefined) this.run.fail(failure);
    this.run.end();
  }
}

function toolAttributes(name: string, callId: string) {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': callId,
  };
}
