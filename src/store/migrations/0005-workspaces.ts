/**
 * Workspaces and their links. Existing agents get a workspace for each directory that is not inside their parent's;
 * all others work in the one that contains their directory.
 */
export const workspaces = `
create table workspaces (
  id text primary key,
  name text not null,
  name_key text unique,
  owner_id text not null references participants (id),
  path text not null,
  made integer not null,
  node_id text not null,
  view_of text references workspaces (id),
  mode text not null check (mode in ('ro', 'rw')),
  network text,
  repository text,
  created_at bigint not null,
  deleted_at bigint
);
create index workspaces_owner on workspaces (owner_id);
create index workspaces_path on workspaces (path);
create index workspaces_views on workspaces (view_of);

create table links (
  workspace_id text not null references workspaces (id),
  target text not null,
  source text not null,
  mode text not null check (mode in ('ro', 'rw')),
  made_by text not null references participants (id),
  created_at bigint not null,
  primary key (workspace_id, target)
);

alter table agents add column workspace_id text references workspaces (id);
create index agents_workspace on agents (workspace_id);

insert into workspaces (id, name, name_key, owner_id, path, made, node_id, mode, created_at)
  select a.id, a.handle, lower(a.handle), a.id, a.workspace,
    case when a.workspace like ('%/workspaces/' || a.id) then 1 else 0 end, a.node_id, 'rw', a.created_at
  from agents a left join agents p on p.id = a.parent_id
  where (p.id is null or substr(a.workspace || '/', 1, length(p.workspace) + 1) <> p.workspace || '/')
    and not exists (
      select 1 from agents o
      where o.workspace = a.workspace and o.node_id = a.node_id
        and (o.created_at < a.created_at or (o.created_at = a.created_at and o.id < a.id))
    );

update agents set workspace_id = (
  select w.id from workspaces w
  where w.node_id = agents.node_id and substr(agents.workspace || '/', 1, length(w.path) + 1) = w.path || '/'
  order by length(w.path) desc limit 1
);
`;
