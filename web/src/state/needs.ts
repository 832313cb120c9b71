import { signal } from '@preact/signals';
import { allPages, type Message, type Run, type SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';
import { api, isOwner } from './session.ts';

/** Something that waits for this person. */
export type Need =
  | {
      readonly kind: 'question';
      readonly id: string;
      readonly who: string;
      readonly since: number;
      readonly channelId: string;
      readonly message: Message;
    }
  | {
      readonly kind: 'failed-run';
      readonly id: string;
      readonly who: string;
      readonly since: number;
      readonly run: Run;
    };

/** What blocks someone first, then the oldest. */
export const needs = signal<readonly Need[]>([]);

const FAILED_SINCE_MS = 24 * 60 * 60_000;
const REREAD_MS = 200;
let timer: ReturnType<typeof setTimeout> | undefined;

export function startNeeds(): () => void {
  const stops = [onReread(() => void read()), onEvent(take)];
  return () => {
    for (const stop of stops) stop();
  };
}

async function read(): Promise<void> {
  const questions: Need[] = [];
  for await (const message of allPages((query) => api.listInbox({ ...query, open: true }))) {
    questions.push({
      kind: 'question',
      id: message.messageId,
      who: message.from,
      since: Date.parse(message.createdAt),
      channelId: message.channelId,
      message,
    });
  }
  const failed = isOwner.peek() ? await readFailed() : [];
  needs.value = [...questions.sort((a, b) => a.since - b.since), ...failed];
}

/** Failed runs of the last day whose agent has not completed another one since. */
async function readFailed(): Promise<Need[]> {
  const { items } = await api.listRuns({ state: 'failed', limit: 50 });
  const newest = new Map<string, Run>();
  for (const run of items) if (!newest.has(run.agentId)) newest.set(run.agentId, run);
  const since = Date.now() - FAILED_SINCE_MS;
  const recent = [...newest.values()].filter(({ endedAt }) => Date.parse(endedAt ?? '') > since);
  const still = await Promise.all(
    recent.map(async (run) => {
      const last = await api.listRuns({ agent: run.agentId, limit: 1 });
      return last.items[0]?.id === run.id ? run : null;
    }),
  );
  return still.flatMap((run): Need[] =>
    run
      ? [{ kind: 'failed-run', id: run.id, who: run.agent, since: Date.parse(run.endedAt ?? run.createdAt), run }]
      : [],
  );
}

function take({ type }: SubstratEvent): void {
  if (!/^(message_created|message_deleted|run_ended|run_started|agent_terminated)$/.test(type)) return;
  if (timer === undefined) {
    timer = setTimeout(() => {
      timer = undefined;
      void read().catch(() => {});
    }, REREAD_MS);
  }
}
