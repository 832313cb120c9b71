import { answerBroadcasts, settleBroadcasts } from '../messaging/broadcasts.ts';
import { holdDeadlines, releaseDeadlines } from '../messaging/closing.ts';
import { askOwner, withdrawQuestion } from '../messaging/owner-questions.ts';
import { answerServed, failServed, foresee, tellPayer, tellPerson } from '../messaging/replies.ts';
import { endTurns, passStaleTurns, passTurns } from '../messaging/rounds.ts';
import { tellBegun, tellEnded } from '../messaging/subscriptions.ts';
import { terminateAgent } from '../messaging/tree.ts';
import type { Correspondence } from '../runs/endings.ts';

/** The messages that runs cause when they end. */
export const messagesOfRuns: Correspondence = {
  foresee,
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
  askOwner,
  withdrawQuestion,
  holdDeadlines,
  releaseDeadlines,
  tellBegun,
  tellEnded,
};
