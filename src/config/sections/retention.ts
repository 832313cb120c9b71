import { maybeDuration } from '../duration.ts';
import { table } from '../fields.ts';

const age = maybeDuration({ min: '1s', max: '36500d' });

export const retention = table({ messages: age, runs: age, run_messages: age, history: age })
  .prefault({})
  .transform(({ messages, runs, runMessages, history }) => ({
    messagesMs: messages,
    runsMs: runs,
    runMessagesMs: runMessages,
    historyMs: history,
  }))
  .describe('How long messages, runs, their records and earlier versions of blocks are stored. Default: forever.');
