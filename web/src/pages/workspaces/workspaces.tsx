import { allPages, type Workspace } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Loading } from '../../parts/loading.tsx';
import { PageBar } from '../../parts/page-bar.tsx';
import { useLoad } from '../../state/load.ts';
import { href, route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { WorkspacePage } from './workspace-page.tsx';

export function Workspaces() {
  const [, agent, ...parts] = route.value;
  return agent === undefined ? <WorkspaceList /> : <WorkspacePage agent={agent} parts={parts} />;
}

/** The directories that agents work in: who uses each, what is linked into it, and which hosts can be reached. */
function WorkspaceList() {
  const workspaces = useLoad('workspaces', async () => {
    const found: Workspace[] = [];
    for await (const workspace of allPages((query) => api.listWorkspaces(query))) found.push(workspace);
    return found;
  });
  return (
    <>
      <PageBar title="Workspaces" />
      <div class="scroll" tabIndex={0} role="region" aria-label="Workspaces">
        <Loading of={workspaces}>
          {(items) =>
            items.length === 0 ? (
              <Empty icon="workspaces" title="There is no workspace">
                Each agent gets one when it is created; <code>substrat workspace create</code> makes one to share.
              </Empty>
            ) : (
              <table class="tbl cards tall">
                <thead>
                  <tr>
                    <th>Workspace</th>
                    <th>Used by</th>
                    <th>Directory</th>
                    <th>Network</th>
                    <th>Links</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((workspace) => (
                    <tr key={workspace.id}>
                      <td>
                        <b>{workspace.name}</b>{' '}
                        {workspace.viewOf && (
                          <span class="prov">
                            view of {workspace.viewOf}, {workspace.mode}
                          </span>
                        )}
                        {workspace.repository && <span class="prov">worktree</span>}
                      </td>
                      <td class="wide">
                        <span class="phone faint">Used by: </span>
                        {workspace.agents.map((agent) => (
                          <span key={agent} class="handle">
                            <a href={href('workspaces', agent)}>{agent}</a>{' '}
                            <a
                              class="small"
                              href={href('workspaces', agent, 'changes')}
                              aria-label={`changes of ${agent}`}
                            >
                              changes
                            </a>
                          </span>
                        ))}
                        {workspace.agents.length === 0 && <span class="faint">nobody</span>}
                      </td>
                      <td class="wide mono wrap">{workspace.path}</td>
                      <td class="wide">
                        <span class="phone faint">Network: </span>
                        {workspace.network.length > 0 ? (
                          workspace.network.join(', ')
                        ) : (
                          <span class="faint">no host</span>
                        )}
                      </td>
                      <td class="wide">
                        <span class="phone faint">Links: </span>
                        {workspace.links.map((link) => (
                          <span key={link.target} class="mono" title={link.source}>
                            {link.target} ({link.mode}){' '}
                          </span>
                        ))}
                        {workspace.links.length === 0 && <span class="faint">none</span>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )
          }
        </Loading>
      </div>
    </>
  );
}
