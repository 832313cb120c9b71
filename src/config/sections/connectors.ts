import * as z from 'zod';
import { TAG, TAG_RULE } from '../../core/memory.ts';
import { count, flag, line, maybe, type PathBase, table, text } from '../fields.ts';
import { branch, gitUrl } from '../git-fields.ts';

const globs = (fallback: string[]) => z.array(text).default(fallback);

/** Keys of every file connector. */
const selection = {
  include: globs(['**']),
  exclude: globs(['**/node_modules/**']),
  tags: z.array(text.regex(TAG, TAG_RULE)).default([]),
  max_file_mb: count({ fallback: 20, min: 1, max: 1_000 }),
};

export const connectors = ({ resolve }: PathBase) =>
  z
    .strictObject({
      filesystem: named(
        table({
          root: text.transform(resolve),
          ...selection,
          gitignore: flag(true),
          follow_symlinks: flag(false),
          watch: flag(false),
        }),
      ),
      git: named(
        table({
          url: gitUrl(resolve),
          branch: maybe(branch),
          root: line.default(''),
          shallow: flag(false),
          ...selection,
        }),
      ),
      s3: named(
        table({
          bucket: text.regex(/^[\w.-]{1,255}$/, 'must be the name of a bucket'),
          prefix: line.default(''),
          region: text.default('us-east-1'),
          endpoint_url: maybe(
            text.refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), 'must be a URL, http:// or https://'),
          ),
          access_key_id: maybe(text).meta({ secret: true }),
          secret_access_key: maybe(text).meta({ secret: true }),
          session_token: maybe(text).meta({ secret: true }),
          ...selection,
        }),
      ),
      // All other keys belong to the script and are passed unchanged.
      script: named(
        z
          .looseObject({ path: text.transform(resolve), timeout: z.number().positive('must be above 0').default(30) })
          .meta({ secret: true }),
      ),
    })
    .prefault({})
    .describe('Sources of documents: [connectors.TYPE.NAME]. Everywhere else a source is called TYPE:NAME.');

function named<Entry extends z.ZodType>(entry: Entry) {
  return z
    .record(
      text.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'a name has 1 to 64 letters, digits, "_", "-" or "."'),
      entry,
    )
    .prefault({})
    .transform((entries): typeof entries => Object.assign(Object.create(null), entries));
}
