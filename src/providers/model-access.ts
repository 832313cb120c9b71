import type { Dialect, Endpoint } from '../core/command.ts';
import { endpointAddress } from '../core/endpoint-address.ts';
import type { CliOptions } from './cli.ts';

/** How a program is given its model's address and the key for it. */
export interface ModelAccess {
  readonly dialect: Dialect;
  /** Its variable for the address; made up for a program that reads the address from a file. */
  readonly variable: string;
  /** The address if the configuration names no other; null if there is none without a key of this kind. */
  readonly url: string | null;
  /** Its variables for a key, and the headers in which the key is sent. */
  readonly keys: Readonly<Record<string, (key: string) => Readonly<Record<string, string>>>>;
}

export interface Access<Options> {
  /** The options without the key, if it is added outside the sandbox. */
  readonly options: Options;
  /** The address of the model for this program; null if it uses its own login. */
  readonly address: string | null;
  readonly endpoints: readonly Endpoint[];
}

/** Programs refuse to start without a key. */
const PLACEHOLDER = 'added-outside-the-sandbox';

/**
 * Keeps a key that the configuration gives to a program (`env`) out of the sandbox: the program gets the address of
 * the proxy, which adds the key. Without a sandbox the program gets the key itself.
 */
export function keepKeys<Options extends CliOptions>(options: Options, access: ModelAccess): Access<Options> {
  const { extraEnv } = options;
  const name = Object.keys(access.keys).find((variable) => extraEnv[variable]);
  const url = extraEnv[access.variable] ?? (name === undefined ? null : access.url);
  if (url === null) return { options, address: null, endpoints: [] };
  if (!options.confined) return { options, address: url, endpoints: [] };
  const used = name ?? Object.keys(access.keys)[0] ?? '';
  const headers = name === undefined ? {} : (access.keys[name]?.(extraEnv[name] ?? '') ?? {});
  const others = Object.entries(extraEnv).filter(
    ([variable]) => !(variable in access.keys) && variable !== access.variable,
  );
  return {
    options: { ...options, extraEnv: { ...Object.fromEntries(others), [used]: PLACEHOLDER } },
    address: endpointAddress(0),
    endpoints: [{ variable: access.variable, url, headers, dialect: access.dialect }],
  };
}

/** The header of most APIs. */
export function bearer(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}
