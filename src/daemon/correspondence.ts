import { answerBroadcasts, settleBroadcasts } from '../messaging/broadcasts.ts';
import { answerServed, failServed, tellPayer, tellPerson } from '../messaging/replies.ts';
import { endTurns, passStaleTurns, passTurns } from '../messaging/rounds.ts';
import { terminateAgent } from '../messaging/tree.ts';
import type { Correspondence } from '../runs/endings.ts';

/** What the end of a run means for others. */
export const messagesOfRuns: Correspondence = {
  answerServed,
  answerBroadcasts,
  settleBroadcasts,
  failServed,
  tellPerson,
  tellPayer,
  endTurns,
  passTurns,
  passStaleTurns,
  terminateAgent,
};
