import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isImage } from '../../core/attachment.ts';
import { cleanText } from '../../core/text.ts';
import { estimateTokens } from '../../core/tokens.ts';
import { keptValue } from '../calls.ts';
import type { ProviderEvent, Turn } from '../provider.ts';
import { type Answer, ask, type Delta } from './ask.ts';
import { findCut, isFull, SUMMARIZE, sizeOf, transcriptOf } from './compact.ts';
import { type Call, callsOf, openCalls, readEntry, type Said, type ToolContent, textOf } from './content.ts';
import type { ChosenModel } from './endpoints.ts';
import { ModelFailed } from './failure.ts';
import { createHands, type Hands } from './hands.ts';
import { callOptions, createModel } from './models.ts';
import type { LlmOptions } from './options.ts';
import { buildPrompt } from './prompt.ts';

interface Scene {
  readonly chosen: ChosenModel;
  readonly session: string;
  readonly signal: AbortSignal;
}

/** What a model must be able to write. */
const LEAST_OUTPUT = 1_000;

/** What the turn has at hand. */
interface Talk extends Scene {
  readonly options: LlmOptions;
  readonly turn: Turn;
  readonly model: LanguageModelV4;
  readonly hands: Hands;
  /** From the last summary on. */
  said: Said[];
}

/**
 * The loop of a turn: asks the model, executes what it calls, and asks again, until it calls nothing. Each message is
 * stored before the next model call, so a daemon that dies repeats at most one call.
 */
export async function* converse(options: LlmOptions, turn: Turn, scene: Scene): AsyncGenerator<ProviderEvent> {
  const { session, chosen } = scene;
  const stored = turn.session === null ? [] : await turn.conversation.load(session);
  if (turn.session !== null && stored.length === 0) {
    const message = `The conversation ${session} is not in the store.`;
    return yield { type: 'error', kind: 'bad_session', message };
  }
  const model = await createModel(chosen);
  const hands = await createHands(turn, options);
  try {
    const talk: Talk = { ...scene, options, turn, model, hands, said: stored.map(readEntry) };
    await settleCalls(talk);
    await receive(talk);
    talk.said = await withImages(talk);
    if (turn.session === null) yield { type: 'session', session };
    yield* loop(talk);
  } finally {
    await hands.close();
  }
}

async function* loop(talk: Talk): AsyncGenerator<ProviderEvent> {
  let text = '';
  for (let n = 0; n < talk.options.maxTurns; n += 1) {
    const answer = yield* nextAnswer(talk);
    const calls = callsOf(answer.parts);
    text = cleanText(textOf(answer.parts));
    const { inputTokens, outputTokens } = answer;
    const content = { model: talk.chosen.name, parts: answer.parts };
    await append(talk, [{ role: 'assistant', content, inputTokens, outputTokens }]);
    yield { type: 'usage', inputTokens, outputTokens, model: talk.chosen.name, metered: true };
    if (calls.length === 0) {
      const note = answer.isCut ? '\n\n[cut: the model reached max_output_tokens]' : '';
      return yield { type: 'done', text: `${text}${note}` };
    }
    if (text !== '') yield { type: 'text', text };
    yield* execute(talk, calls);
  }
  yield { type: 'done', text, stopReason: 'max_steps' };
}

/** Asks the model, and once more with a summary if the conversation is too long for it. */
async function* nextAnswer(talk: Talk): AsyncGenerator<ProviderEvent, Answer> {
  const { options } = talk;
  if (isFull(sizeOf(talk.said, besideOf(talk)), options.contextTokens)) yield* compact(talk, options.contextTokens);
  try {
    return yield* askModel(talk);
  } catch (error) {
    const isFull = error instanceof ModelFailed && error.failed.kind === 'context_full';
    // The context is smaller than the configuration says.
    if (!isFull || !(yield* compact(talk, options.contextTokens / 4))) throw error;
    return yield* askModel(talk);
  }
}

function askModel(talk: Talk): AsyncGenerator<ProviderEvent, Answer> {
  const { options, turn, hands } = talk;
  const prompt = buildPrompt(talk.said, {
    instructions: turn.instructions,
    chosen: talk.chosen,
    images: options.images,
  });
  return call(talk, prompt, [...hands.tools], sizeOf(talk.said, besideOf(talk)));
}

/** What every prompt has in addition to the conversation. */
function besideOf({ turn, hands }: Talk): string {
  return `${turn.instructions}${JSON.stringify(hands.tools)}`;
}

async function* call(
  talk: Talk,
  prompt: LanguageModelV4Prompt,
  tools: Hands['tools'],
  inputTokens: number,
): AsyncGenerator<Delta, Answer> {
  const { options, chosen, session, model, signal, turn } = talk;
  const outputTokens = options.maxOutputTokens;
  const leastOutput = Math.min(LEAST_OUTPUT, outputTokens);
  const admission = await turn.admit({ model: chosen.name, inputTokens, outputTokens, leastOutput });
  signal.throwIfAborted();
  if (!admission) {
    const message = 'A budget does not allow the next request to the model.';
    throw new ModelFailed({ type: 'error', kind: 'cancelled', message }, false);
  }
  const request = {
    prompt,
    maxOutputTokens: admission.outputTokens,
    providerOptions: callOptions(chosen, session),
    ...(tools.length > 0 && { tools: [...tools], toolChoice: { type: 'auto' as const } }),
  };
  try {
    return yield* ask(model, request, options, signal);
  } finally {
    admission.over();
  }
}

/** Executes calls in order. Their results are stored together: until then, the record of the run has them. */
async function* execute(talk: Talk, calls: readonly Call[]): AsyncGenerator<ProviderEvent> {
  const { hands, signal } = talk;
  const results: ToolContent[] = [];
  for (const one of calls) {
    signal.throwIfAborted();
    const { id, name } = one;
    const ours = hands.isOurs(name) ? ({ ours: true } as const) : {};
    yield { type: 'tool_call', id, name, arguments: keptValue(one.arguments), ...ours };
    const { text, isError, images } = await hands.call(one);
    results.push({ id, name, text, isError, images: [...images] });
    yield { type: 'tool_result', id, result: keptValue(text), isError, ...ours };
  }
  await append(
    talk,
    results.map((content) => ({ role: 'tool', content })),
  );
}

/** Every call that an interrupted attempt left open gets a result: models refuse a conversation without it. */
async function settleCalls(talk: Talk): Promise<void> {
  const { turn, hands } = talk;
  const results: ToolContent[] = [];
  for (const { call: one, entry } of openCalls(talk.said)) {
    const { id, name } = one;
    const recorded = await turn.conversation.findCall(entry.runId, id);
    const result = { id, name, images: [] };
    if (recorded !== null && recorded !== 'begun') {
      results.push({ ...result, text: cleanText(JSON.stringify(recorded.result)), isError: recorded.isError });
    } else if (recorded === null && hands.isOurs(name)) {
      // The effect and the record of such a call are one transaction.
      results.push({
        ...result,
        text: 'The turn was interrupted before this call. It has not been executed.',
        isError: true,
      });
    } else {
      const text = 'Outcome unknown: the turn was interrupted during this call. Look what it did before you repeat it.';
      results.push({ ...result, text, isError: true });
    }
  }
  if (results.length > 0)
    await append(
      talk,
      results.map((content) => ({ role: 'tool', content })),
    );
}

/** A later attempt has received the messages already: it goes on where the earlier one ended. */
async function receive(talk: Talk): Promise<void> {
  const { turn } = talk;
  if (talk.said.some(({ entry }) => entry.runId === turn.runId && entry.role !== 'tool')) return;
  const attached = turn.messages
    .flatMap(({ attachments = [] }) => attachments)
    .filter(isImage)
    .map(({ mediaType, hash }) => ({ mediaType, hash }));
  await append(talk, [{ role: 'user', content: { text: turn.prompt, attached } }]);
}

/** Attached images as the model sees them; one that was deleted meanwhile is left out. */
function withImages({ said, turn, options }: Talk): Promise<Said[]> {
  return Promise.all(
    said.map(async (one) => {
      if (one.role !== 'user' || one.attached.length === 0 || !options.images) return one;
      const found = await Promise.all(
        one.attached.map(async ({ mediaType, hash }) => ({ mediaType, data: await turn.conversation.readFile(hash) })),
      );
      const images = found.flatMap(({ mediaType, data }) => (data === null ? [] : [{ mediaType, data }]));
      return { ...one, images };
    }),
  );
}

/** Replaces the older part of the conversation by a summary that the model writes. Returns whether it did. */
async function* compact(talk: Talk, contextTokens: number): AsyncGenerator<ProviderEvent, boolean> {
  const { turn, chosen } = talk;
  const cut = findCut(talk.said, turn.runId, contextTokens);
  if (!cut) return false;
  let text = '';
  const tokens = { inputTokens: 0, outputTokens: 0 };
  for (const piece of transcriptOf(cut.old, contextTokens)) {
    const transcript = text === '' ? piece : `[summary of what was before]\n${text}\n\n${piece}`;
    const prompt: LanguageModelV4Prompt = [
      { role: 'system', content: SUMMARIZE },
      {
        role: 'user',
        content: [{ type: 'text', text: `Transcript:\n\n${transcript}\nEnd of the transcript. Write the summary.` }],
      },
    ];
    // Its text is not part of the turn: no delta is passed on.
    const answer = await finished(call(talk, prompt, [], estimateTokens(`${SUMMARIZE}${transcript}`)));
    text = cleanText(textOf(answer.parts));
    tokens.inputTokens += answer.inputTokens;
    tokens.outputTokens += answer.outputTokens;
    const { inputTokens, outputTokens } = answer;
    yield { type: 'usage', inputTokens, outputTokens, model: chosen.name, metered: true };
  }
  await append(talk, [{ role: 'summary', content: { text, kept: cut.kept }, covers: cut.covers, ...tokens }]);
  const summary = talk.said.pop() as Said;
  talk.said = [summary, ...talk.said.filter(({ role, entry }) => role !== 'summary' && entry.n > cut.covers)];
  return true;
}

async function finished<R>(steps: AsyncGenerator<unknown, R>): Promise<R> {
  for (;;) {
    const step = await steps.next();
    if (step.done) return step.value;
  }
}

async function append(talk: Talk, entries: Parameters<Turn['conversation']['append']>[1]): Promise<void> {
  const added = await talk.turn.conversation.append(talk.session, entries);
  talk.said.push(...added.map(readEntry));
}
