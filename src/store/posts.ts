import type { Queries } from './query.ts';
import type { PostRow } from './schema.ts';

/** What a post with a key was answered, kept with its effect so that a repeat has none. */
export function postQueries({ db, one, run }: Queries) {
  return {
    getPost: one((p: { participantId: string; key: string }) =>
      db.selectFrom('posts').selectAll().where('participantId', '=', p.participantId).where('key', '=', p.key),
    ),
    insertPost: run((p: PostRow) =>
      db.insertInto('posts').values({
        participantId: p.participantId,
        key: p.key,
        request: p.request,
        status: p.status,
        response: p.response,
        createdAt: p.createdAt,
      }),
    ),
  };
}
