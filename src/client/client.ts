import { type Client, createCalls } from './calls.ts';
import { type Address, createExchange } from './exchange.ts';
import { followEvents } from './follow.ts';

export { SubstratError } from '../core/errors.ts';
export * from './calls.ts';

/**
 * A client of the API: over the socket of a home, which only its owner can open, or over TCP with a token. Errors of
 * the daemon are thrown as `SubstratError` with their code.
 */
export function createClient(address: Address): Client {
  return createCalls({
    exchange: createExchange(address),
    follow: (path, after, signal) => followEvents(address, path, after, signal),
  });
}
