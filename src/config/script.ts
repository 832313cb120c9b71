import * as z from 'zod';
import { text } from './fields.ts';

const seconds = 'must be a number of seconds from 0.05 to 3600';

/** Keys of every script table. */
export const scriptKeys = {
  timeout: z.number(seconds).min(0.05, seconds).max(3_600, seconds).default(30),
  env: z.array(text).default([]),
  network: z
    .array(text.regex(/^[^\s/@]+$/, 'must be a host such as "api.example.com", without scheme or path'))
    .nullable()
    .default(null),
};

/** A Lua script: its path, its limits, and all other keys, which are passed to the script unchanged. */
export function script(resolve: (path: string) => string) {
  return z
    .looseObject({ path: text.transform(resolve), ...scriptKeys })
    .transform(({ path, timeout, env, network, ...config }) => ({
      path,
      timeoutMs: timeout * 1_000,
      env,
      network,
      config: config as Record<string, unknown>,
    }))
    .meta({ secret: true });
}
