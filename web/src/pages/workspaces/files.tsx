import { useEffect, useState } from 'preact/hooks';
import type { AgentFile } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loading } from '../../parts/loading.tsx';
import { showSize } from '../../parts/numbers.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { Code, languageOf } from '../../text/code.tsx';

/** A directory on the left, and the file that is opened on the right. */
export function Files({ agent, path }: { readonly agent: string; readonly path: string }) {
  const file = useLoad(`file ${agent} ${path}`, () => api.getFile(agent, path));
  const isFile = file.value?.kind === 'file';
  // A file is shown beside the directory that it is in.
  const folder = isFile ? parentOf(path) : path;
  const directory = useLoad(`directory ${agent} ${folder} ${file.value === null}`, async () =>
    file.value === null ? null : isFile ? api.getFile(agent, folder) : file.value,
  );
  return (
    <div class={`split list${isFile ? ' has-pane' : ''}`}>
      <div class="col queue-col">
        <div class="scroll" tabIndex={0} role="region" aria-label="Directory">
          <Crumbs agent={agent} path={folder} />
          <Loading of={file}>
            {() => directory.value && <Entries agent={agent} path={path} of={directory.value} />}
          </Loading>
        </div>
      </div>
      <div class="col">
        {file.value && isFile ? (
          <Content key={path} agent={agent} first={file.value} back={folder} />
        ) : (
          <Empty icon="workspaces" title="Choose a file">
            Files that usually contain credentials, and <code>.git</code>, are not shown.
          </Empty>
        )}
      </div>
    </div>
  );
}

function Crumbs({ agent, path }: { readonly agent: string; readonly path: string }) {
  const parts = path.split('/').filter((part) => part !== '');
  return (
    <nav class="crumbs" aria-label="Path">
      <a href={href('workspaces', agent)}>{agent}</a>
      {parts.map((part, i) => (
        <span key={parts.slice(0, i + 1).join('/')}>
          {' / '}
          <a href={href('workspaces', agent, 'files', parts.slice(0, i + 1).join('/'))}>{part}</a>
        </span>
      ))}
    </nav>
  );
}

function Entries({ agent, path, of }: { readonly agent: string; readonly path: string; readonly of: AgentFile }) {
  const entries = [...(of.entries ?? [])].sort(
    (a, b) => Number(b.kind === 'directory') - Number(a.kind === 'directory') || a.name.localeCompare(b.name),
  );
  return (
    <ul class="entries">
      {entries.map(({ name, kind, size }) => {
        const whole = of.path === '' ? name : `${of.path.replace(/\/$/, '')}/${name}`;
        const isOpen = kind === 'file' || kind === 'directory';
        return (
          <li key={name}>
            {isOpen ? (
              <a href={href('workspaces', agent, 'files', whole)} aria-current={whole === path ? 'true' : undefined}>
                {kind === 'directory' && <Icon name="workspaces" />}
                <span class="cut grow">{name}</span>
                <span class="faint small">{size === null ? '' : showSize(size)}</span>
              </a>
            ) : (
              <span class="faint">
                <span class="cut grow">{name}</span>
                <span class="small">{kind}</span>
              </span>
            )}
          </li>
        );
      })}
      {entries.length === 0 && <li class="more-row muted">This directory is empty.</li>}
      {of.truncated && <li class="more-row muted">There are more entries than are shown.</li>}
    </ul>
  );
}

/** Highlighting more than this at once would hold up the page. */
const MOST_COLOURED = 100_000;

function Content({ agent, first, back }: { readonly agent: string; readonly first: AgentFile; readonly back: string }) {
  const [pages, setPages] = useState<readonly AgentFile[]>([first]);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => setPages([first]), [first]);
  const next = pages.at(-1)?.nextOffset ?? null;
  const text = pages.map((page) => page.text ?? '').join('');
  const readOn = (): void => {
    api.getFile(agent, first.path, next ?? 0).then(
      (page) => setPages([...pages, page]),
      (error: Error) => setProblem(error.message),
    );
  };
  return (
    <>
      <div class="pane-head">
        <a
          class="btn quiet square narrow"
          href={href('workspaces', agent, 'files', back)}
          aria-label="Back to the directory"
        >
          <Icon name="back" />
        </a>
        <h2 class="cut mono grow">{first.path}</h2>
        <span class="faint small">{showSize(first.size ?? 0)}</span>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="File">
        {first.text === null ? (
          <Empty icon="workspaces" title="This file is not text" />
        ) : (
          <pre class="file">
            <Code text={text} language={text.length > MOST_COLOURED ? '' : languageOf(first.path)} />
          </pre>
        )}
        {problem && <p class="more-row bad">{problem}</p>}
        {next !== null && first.text !== null && (
          <div class="more-row">
            <button type="button" class="btn" onClick={readOn}>
              Load more, {showSize((first.size ?? 0) - next)} left
            </button>
          </div>
        )}
      </div>
    </>
  );
}

function parentOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}
