import * as z from 'zod';
import type { Dialogue, Said } from '../cli.ts';
import type { Arrived, Turn } from '../provider.ts';
import { createRpc, type Incoming } from '../rpc.ts';
import { createSteering } from '../steering.ts';
import { failed } from '../verdict.ts';
import { createApprovals } from './approvals.ts';
import { createReader } from './read.ts';

const thread = z.object({ thread: z.object({ id: z.string() }) });
const textOf = (text: string) => ({ type: 'text', text, text_elements: [] });

/** One turn over JSON-RPC: initialize, start or resume the thread, start the turn. Its end closes stdin. */
export function createDialogue(turn: Turn, session: string | null): Dialogue {
  const rpc = createRpc();
  const steering = createSteering();
  const reader = createReader({ onUserMessage: steering.shown });
  const approvals = createApprovals(turn.workspace);
  let threadId = '';
  const clientInfo = { name: 'substrat', title: 'Substrat', version: '1' };

  /** Asks for something that the turn needs. */
  function need(method: string, params: object, then: (result: unknown) => readonly Said[]): void {
    rpc.request(method, params, ({ result, error }) => (error ? ended(failed(error.message)) : then(result)));
  }

  need('initialize', { clientInfo, capabilities: null }, () => {
    rpc.notify('initialized');
    const common = {
      cwd: turn.workspace,
      // With `untrusted`, it asks for every command and every change of a file.
      approvalPolicy: turn.guard ? 'untrusted' : 'never',
      sandbox: 'danger-full-access',
      developerInstructions: turn.instructions,
      ...(turn.model !== null && { model: turn.model }),
    };
    if (session === null) need('thread/start', common, begin);
    else need('thread/resume', { threadId: session, excludeTurns: true, ...common }, begin);
    return [];
  });

  function begin(result: unknown): readonly Said[] {
    const { data } = thread.safeParse(result);
    if (!data) return ended(failed('It did not name its thread.'));
    threadId = data.thread.id;
    reader.begin(threadId);
    need('turn/start', { threadId, input: [textOf(turn.prompt)] }, () => []);
    return [];
  }

  function steer(arrived: Arrived): void {
    steering.sent(arrived);
    const params = { threadId, expectedTurnId: reader.turn(), input: [textOf(arrived.text)] };
    rpc.request('turn/steer', params, ({ error }) => {
      // The turn has ended meanwhile.
      if (error) steering.refused(arrived);
      return [];
    });
  }

  /** It takes no reason with a refusal, so the model reads it as a message of its own. */
  function explain(text: string): void {
    const params = { threadId, expectedTurnId: reader.turn(), input: [textOf(`[Substrat] ${text}`)] };
    rpc.request('turn/steer', params, () => []);
  }

  /** Refused unless a policy allows it or a person has approved it. */
  function decide(question: Incoming): void {
    const call = turn.guard && approvals.read(question.method, question.params);
    if (!call) refuse(question);
    void (call && turn.guard?.permit(call))?.then((permission) => {
      rpc.answer(question, { decision: permission.allowed ? 'accept' : 'decline' });
      if (!permission.allowed) explain(permission.message);
    });
  }

  function ended(...said: Said[]): Said[] {
    rpc.close();
    return said;
  }

  /** Nobody can be asked. */
  function refuse(question: Incoming): void {
    if (question.method.endsWith('Approval')) rpc.answer(question, { decision: 'decline' });
    else if (question.method.startsWith('mcpServer/elicitation')) rpc.answer(question, { action: 'decline' });
    else rpc.refuse(question, -32601, 'Nobody can be asked. Go on without an answer.');
  }

  return {
    input: rpc.input,
    steer,
    parse: (line) =>
      rpc.read(line, (incoming) => {
        if (incoming.id !== null) decide(incoming);
        else approvals.heard(incoming.method, incoming.params);
        const said = reader.read(incoming.method, incoming.params);
        return said.some(({ type }) => type === 'done' || type === 'error') ? ended(...said) : said;
      }),
  };
}
