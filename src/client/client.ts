import { type Client, createCalls, type Transport } from './calls.ts';
import { type Address, createExchange } from './exchange.ts';
import { followEvents } from './follow.ts';
import { createOwnerCalls, type OwnerCalls } from './owner-calls.ts';

export { SubstratError } from '../core/errors.ts';
export * from './calls.ts';
export type { Schedule, ScheduleCreation } from './owner-calls.ts';

/**
 * A client of the API: over the socket of a home, which only its owner can open, or over TCP with a token. Errors of
 * the daemon are thrown as `SubstratError` with their code.
 */
export function createClient(address: Address): Client & OwnerCalls {
  const exchange = createExchange(address);
  const follow: Transport['follow'] = (path, after, signal) => followEvents(address, path, after, signal);
  return { ...createCalls({ exchange, follow }), ...createOwnerCalls(exchange) };
}
