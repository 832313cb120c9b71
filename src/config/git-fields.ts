import { text } from './fields.ts';

/** Resolves a path; `https://…`, `ssh://…`, `git@host:…` and so on are not paths. */
export const gitUrl = (resolve: (path: string) => string) =>
  text
    .refine((url) => !url.startsWith('-'), 'must be the URL or the path of a repository')
    .transform((url) => (/^[\w.+-]+:\/\/|^[^/]+:/.test(url) ? url : resolve(url)));

export const branch = text.regex(/^(?!-)[^\s:~^?*[\\]+$/, 'must be the name of a branch');
