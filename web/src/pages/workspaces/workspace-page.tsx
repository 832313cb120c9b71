import { PageBar } from '../../parts/page-bar.tsx';
import { href } from '../../state/route.ts';
import { Changes } from './changes.tsx';
import { Files } from './files.tsx';

/** The workspace of an agent: its files, or what it changed. Both are read-only, and the agent's word. */
export function WorkspacePage({ agent, parts }: { readonly agent: string; readonly parts: readonly string[] }) {
  const [tab = 'files', ...path] = parts;
  return (
    <>
      <PageBar
        above={
          <a class="muted" href={href('workspaces')}>
            Workspaces
          </a>
        }
        title={agent}
      >
        <nav class="tabs" aria-label="Views">
          <a href={href('workspaces', agent)} aria-current={tab === 'files' ? 'page' : undefined}>
            Files
          </a>
          <a href={href('workspaces', agent, 'changes')} aria-current={tab === 'changes' ? 'page' : undefined}>
            Changes
          </a>
        </nav>
      </PageBar>
      {tab === 'changes' ? (
        <Changes key={agent} agent={agent} path={path[0] ?? null} />
      ) : (
        <Files key={agent} agent={agent} path={path[0] ?? ''} />
      )}
    </>
  );
}
