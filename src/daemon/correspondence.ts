import { answerBroadcasts, settleBroadcasts } from '../messaging/broadcasts.ts';
import { answerServed, failServed, tellPayer, tellPerson } from '../messaging/replies.ts';
import { endTurns, passStaleTurns, passTurns } from '../messaging/rounds.ts';
import { terminateAgent } from '../messaging/tree.ts';
import type { Correspondence } from '../runs/endings.ts';

/** The messages that runs cause when they end. */
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
