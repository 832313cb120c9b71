import { useMemo, useState } from 'preact/hooks';
import type { AgentDiff } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loading } from '../../parts/loading.tsx';
import { plural } from '../../parts/numbers.ts';
import { useLoad } from '../../state/load.ts';
import { go, href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { type Comment, useComments, wordsOf } from './comments.ts';
import { DiffView } from './diff-view.tsx';
import { parseDiff } from './parse-diff.ts';

/** What an agent changed against its base, file by file, with comments that go to it as one message. */
export function Changes({ agent, path }: { readonly agent: string; readonly path: string | null }) {
  const diff = useLoad(
    `diff ${agent}`,
    () => api.getDiff(agent),
    (event) => event.type === 'run_ended' && event.data.agent === agent,
  );
  return <Loading of={diff}>{(value) => <Whole agent={agent} path={path} diff={value} />}</Loading>;
}

interface Props {
  readonly agent: string;
  readonly path: string | null;
  readonly diff: AgentDiff;
}

function Whole({ agent, path, diff }: Props) {
  const files = useMemo(() => parseDiff(diff.diff), [diff]);
  const comments = useComments(agent);
  const chosen = files.find((file) => file.path === path) ?? null;
  if (diff.files.length === 0) {
    return (
      <Empty icon="done" title="Nothing is changed">
        {diff.base ? `The files are as in ${diff.base.slice(0, 10)}.` : 'There is no commit to compare with.'}
      </Empty>
    );
  }
  return (
    <div class={`split list${chosen ? ' has-pane' : ''}`}>
      <div class="col queue-col">
        <div class="scroll" tabIndex={0} role="region" aria-label="Changed files">
          <p class="more-row muted small">
            {plural(diff.files.length, 'file')} changed since {diff.base?.slice(0, 10) ?? 'the beginning'}
            {diff.truncated && '; the diff is too long and was cut'}
          </p>
          <ul class="entries">
            {diff.files.map((file) => (
              <li key={file.path}>
                <a
                  href={href('workspaces', agent, 'changes', file.path)}
                  aria-current={file.path === path ? 'true' : undefined}
                >
                  <span class="cut grow mono" title={file.path}>
                    {file.path}
                  </span>
                  <span class="added">+{file.added ?? 0}</span>
                  <span class="removed">−{file.removed ?? 0}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
        {comments.all.length > 0 && (
          <Send agent={agent} comments={comments.all} onSent={comments.clear} base={diff.base} />
        )}
      </div>
      <div class="col">
        {chosen ? (
          <>
            <div class="pane-head">
              <a
                class="btn quiet square narrow"
                href={href('workspaces', agent, 'changes')}
                aria-label="Back to the files"
              >
                <Icon name="back" />
              </a>
              <h2 class="cut mono grow">{chosen.path}</h2>
            </div>
            <DiffView key={chosen.path} file={chosen} comments={comments} />
          </>
        ) : (
          <Empty icon="workspaces" title="Choose a file">
            Comment on lines by their numbers. All comments go to {agent} as one message.
          </Empty>
        )}
      </div>
    </div>
  );
}

function Send({
  agent,
  comments,
  base,
  onSent,
}: {
  readonly agent: string;
  readonly comments: readonly Comment[];
  readonly base: string | null;
  readonly onSent: () => void;
}) {
  const [problem, setProblem] = useState<string | null>(null);
  const send = async (): Promise<void> => {
    setProblem(null);
    try {
      const { messageId } = await api.sendMessage(agent, { text: wordsOf(comments, base), inReplyTo: null });
      onSent();
      go('talk', (await api.getMessage(messageId)).channelId);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="decide">
      {problem && (
        <p class="bad decide-wide" role="alert">
          Not sent. {problem} Your comments are kept.
        </p>
      )}
      <button type="button" class="btn main-act" onClick={() => void send()}>
        Send {plural(comments.length, 'comment')} to {agent}
      </button>
      <button type="button" class="btn quiet" onClick={onSent}>
        Discard
      </button>
    </div>
  );
}
