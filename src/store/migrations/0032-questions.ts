/** Questions and approvals: requests to people with a typed body. A request whose answer waits for a person has no deadline meanwhile. */
export const questions = `
create table questions (
  id text primary key references requests (message_id),
  agent_id text not null references agents (id),
  tree_id text not null,
  kind text not null,
  subject text not null,
  details text,
  options text not null,
  tool text,
  args text,
  digest text not null,
  blocking integer not null,
  answerers text not null,
  created_at bigint not null,
  outcome text,
  note text,
  revised_args text,
  settled_by text,
  settled_with text,
  settled_at bigint,
  grant_digest text,
  grant_until bigint,
  used_at bigint
);
create unique index questions_open on questions (agent_id, digest) where outcome is null;
create index questions_tree on questions (tree_id) where outcome is null;
create index questions_digest on questions (agent_id, digest);
create index questions_grant on questions (agent_id, grant_digest) where grant_digest is not null and used_at is null;
alter table requests add column waits integer not null default 0;
alter table requests add column waits_since bigint;
/* postgres: create trigger guard before insert or update on questions for each row execute function guard_row_of_agent() */;
`;
