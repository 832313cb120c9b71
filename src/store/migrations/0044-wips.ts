/** A statement for PostgreSQL only. */
const postgres = (statement: string) => `/* postgres: ${statement} */;\n`;

/**
 * Git workspaces: what was pushed of each, after which run, and why not. `nodes.wip_remote` says where a node pushes to
 * (a digest of the address), so that others know whether they can continue.
 */
export const wips = `
alter table nodes add column wip_remote text;
create table wips (
  workspace_id text primary key references workspaces (id),
  agent_id text not null,
  remote text not null,
  source text not null,
  base text not null,
  hash text,
  head text,
  branch text,
  run_id text,
  saved integer not null,
  problem text,
  left_out text not null,
  moves integer not null
);
${postgres('create trigger guard before insert or update on wips for each row execute function guard_row_of_agent()')}`;
