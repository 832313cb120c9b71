import * as z from 'zod';
import { NAME } from '../../core/agent.ts';
import { maybe, type PathBase, table, text } from '../fields.ts';
import { branch, gitUrl } from '../git-fields.ts';

export const registries = ({ resolve }: PathBase) =>
  z
    .record(
      text.regex(NAME, 'a name has 1 to 64 letters, digits, "_" or "-" and starts with a letter or digit'),
      table({ url: maybe(gitUrl(resolve)), branch: maybe(branch), path: maybe(text.transform(resolve)) }).superRefine(
        ({ url, path }, context) => {
          if (url === null && path === null) context.addIssue({ code: 'custom', path: ['url'], message: 'is missing' });
        },
      ),
    )
    .prefault({})
    .transform((entries): typeof entries => Object.assign(Object.create(null), entries))
    .describe('Collections of scripts for `ctx registry`: a git repository (url), or a directory (path).');
