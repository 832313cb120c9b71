import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectedAgent, connectAgent } from '../../helpers/mcp.ts';
import type { DaemonProcess } from '../daemon-process.ts';
import { untilDone } from '../patience.ts';
import { type CreateCompanion, SIDE } from './companion.ts';

export const EXTERNAL_AGENT = 'win';
const ASKERS = 6;
/** A call whose daemon died never gets a response. */
const CALL_TIMEOUT_MS = 10_000;

/** An external agent whose client comes and goes, and people who ask it: each question has one right answer. */
export const createExternal: CreateCompanion = (daemon, random) => {
  const wrong: string[] = [];
  let answered = 0;

  const ask = async (asker: number, more: () => boolean): Promise<void> => {
    for (let n = 1; more(); n += 1) {
      const text = `${SIDE}question ${asker}.${n}`;
      const send = () => daemon.client.sendMessage(EXTERNAL_AGENT, { text }, { idempotencyKey: text });
      const { messageId } = await untilDone(daemon, send);
      const reply = await untilDone(daemon, () => daemon.client.awaitReply(messageId, 60));
      if (reply.text === answerTo(text)) answered += 1;
      else wrong.push(`"${text}" was answered by "${reply.text}"`);
    }
  };

  return {
    async work(more) {
      let asking = true;
      const askers = Array.from({ length: ASKERS }, (_, asker) => ask(asker, more));
      const asked = Promise.all(askers).finally(() => {
        asking = false;
      });
      while (asking) {
        const seat = await joinAgent(daemon);
        if (seat) await sit(seat, daemon, random).catch(() => {});
        await seat?.close();
        await sleep(random() * 200);
      }
      await asked;
    },
    async faults() {
      return [...wrong, ...(answered === 0 ? ['the external agent answered nothing'] : [])];
    },
  };
};

async function joinAgent(daemon: DaemonProcess): Promise<ConnectedAgent | null> {
  const { id } = await untilDone(daemon, () => daemon.client.getAgent(EXTERNAL_AGENT));
  return connectAgent({ home: daemon.home, agentId: id }).catch(() => null);
}

/** Answers its inbox, and sometimes leaves in between. Throws when its daemon dies. */
async function sit(seat: ConnectedAgent, daemon: DaemonProcess, random: () => number): Promise<void> {
  for (let looks = 1 + random() * 8; looks > 0; looks -= 1) {
    const { value } = await inTime(seat.call('check_inbox'));
    const messages = value.messages as { message_id: string; text: string; kind: string }[];
    for (const { message_id, text, kind } of messages) {
      note(daemon, { got: message_id, text });
      if (random() < 0.2) return;
      if (kind !== 'request') continue;
      const reply = { recipient: 'USER', text: answerTo(text), in_reply_to: message_id };
      await inTime(seat.call('send_message', reply));
    }
    await sleep(random() * 100);
  }
}

function answerTo(question: string): string {
  return `${SIDE}answer to ${question.slice(SIDE.length)}`;
}

async function inTime<T>(call: Promise<T>): Promise<T> {
  const late = sleep(CALL_TIMEOUT_MS, null, { ref: false }).then(() => {
    throw new Error('The call was not answered.');
  });
  return Promise.race([call, late]);
}

function note({ directory }: DaemonProcess, entry: object): void {
  const line = JSON.stringify({ name: EXTERNAL_AGENT, runId: '', ...entry });
  appendFileSync(join(directory, 'journal', `${EXTERNAL_AGENT}.jsonl`), `${line}\n`);
}
