import { shorten, USER, USER_ID } from '../core/agent.ts';
import type { EventRow, Store, Tx } from '../store/store.ts';

/** Follows the log of events and tells each in a line for people. Answers a function that ends it. */
export function followEvents(store: Store, after: number, print: (line: string) => void): () => void {
  let seen = after;
  let changed = false;
  let reading = false;
  const look = async (): Promise<void> => {
    changed = true;
    if (reading) return;
    reading = true;
    while (changed) {
      changed = false;
      for (const line of await store.read(readOn)) if (line !== null) print(line);
    }
    reading = false;
  };
  const readOn = async (tx: Tx): Promise<(string | null)[]> => {
    const events = await tx.listEvents({ after: seen, limit: 500 });
    seen = events.at(-1)?.seq ?? seen;
    const lines = [];
    for (const event of events) lines.push(await describe(tx, event));
    return lines;
  };
  void look();
  return store.onChange(() => void look());
}

/** Null for what a person need not see. */
async function describe(tx: Tx, event: EventRow): Promise<string | null> {
  const data = JSON.parse(event.data) as Record<string, string | null>;
  const who = async (id: string | null | undefined): Promise<string> =>
    (id && (await tx.getAgent({ id }))?.handle) || (id === USER_ID ? USER : 'Substrat');
  switch (event.type) {
    case 'agent_created':
      return `${data.handle} is here${data.parentId ? `, a child of ${await who(data.parentId)}` : ''}`;
    case 'agent_terminated':
      return `${await who(data.agentId)} ended: ${data.reason}`;
    case 'run_started':
      return `${await who(data.agentId)} starts a turn`;
    case 'run_ended':
      return endOfRun(await who(data.agentId), data);
    case 'run_retried':
      return `${await who(data.agentId)} will try its turn again: ${data.error}`;
    case 'message_created':
      return describeMessage(tx, data.messageId as string, who);
    default:
      return null;
  }
}

function endOfRun(name: string, data: Record<string, string | null>): string {
  return data.state === 'completed'
    ? `${name} ends its turn, its process is gone`
    : `${name}'s turn ${data.state}: ${data.error}`;
}

async function describeMessage(tx: Tx, id: string, who: (id: string) => Promise<string>): Promise<string> {
  const message = await tx.getMessage({ id });
  if (!message) return `message ${id}`;
  const request = await tx.getRequest({ id: message.kind === 'message' ? id : (message.in_reply_to ?? '') });
  const author = await who(message.author_id);
  const text = shorten(message.text.replace(/\s+/g, ' '), 160);
  if (message.kind === 'notice') return `${author}: ${text}`;
  if (message.kind === 'message' && !request) return `${author} tells ${message.channel_id}: ${text}`;
  const other = await who(request?.asker_id === message.author_id ? request.recipient_id : (request?.asker_id ?? ''));
  if (message.kind === 'message') return `${author} asks ${other}: ${text}`;
  const verb = message.late ? 'answers late' : other === USER ? 'reports to' : 'answers';
  return `${author} ${verb}${message.late ? ' to' : ''} ${other}: ${text}`;
}
