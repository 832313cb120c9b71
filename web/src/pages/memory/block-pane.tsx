import { useEffect, useState } from 'preact/hooks';
import { type Block, type BlockChange, isCode } from '../../../../src/client/browser.ts';
import { Icon } from '../../parts/icon.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock } from '../../parts/time.ts';
import { draftOf } from '../../state/drafts.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { Difference } from '../../text/difference.tsx';

/** A block with its history. A change is saved only over the version that was read; otherwise both are shown. */
export function BlockPane({ of, label }: { readonly of: string; readonly label: string }) {
  const concerns = (event: { type: string; data: object }): boolean =>
    event.type.startsWith('memory_') && 'label' in event.data && event.data.label === label;
  const block = useLoad(
    `block ${of} ${label}`,
    async (): Promise<Read> => ({ block: await api.getBlock(of, label).catch(noneYet) }),
    concerns,
  );
  const history = useLoad(
    `history ${of} ${label}`,
    async () => (await api.listBlockChanges(of, label, { limit: 20 }).catch(() => ({ items: [] }))).items,
    concerns,
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Block">
      <div class="detail">
        <a class="btn quiet sm narrow" href={href('memory', of)}>
          <Icon name="back" />
          Memory
        </a>
        <h2 class="big">{label}</h2>
        {block.value && <Editor of={of} label={label} now={block.value.block} />}
        <History of={of} label={label} changes={history.value ?? []} version={block.value?.block?.version ?? 0} />
      </div>
    </div>
  );
}

interface Read {
  readonly block: Block | null;
}

function noneYet(error: unknown): null {
  if (isCode(error, 'not_found')) return null;
  throw error;
}

function Editor({ of, label, now }: { readonly of: string; readonly label: string; readonly now: Block | null }) {
  const draft = draftOf(`block:${of}:${label}`, null);
  const [base, setBase] = useState(now);
  const [text, setText] = useState(() => draft.get() ?? now?.text ?? '');
  const [problem, setProblem] = useState<string | null>(null);
  const [saved, setSaved] = useState(false);
  const isChanged = text !== (base?.text ?? '');
  const isOld = now !== null && (base?.version ?? 0) !== now.version;
  useEffect(() => {
    // Nothing of ours would be lost: follow what others write.
    if (!isOld || isChanged) return;
    setBase(now);
    setText(now.text);
  }, [now?.version]);
  const write = (next: string): void => {
    setText(next);
    setSaved(false);
    draft.set(next === (base?.text ?? '') ? null : next);
  };
  const save = async (over: number): Promise<void> => {
    try {
      const made = await api.setBlock(of, label, text, { ifVersion: over });
      setBase(made);
      setProblem(null);
      setSaved(true);
      draft.set(null);
    } catch (error) {
      // The conflict is shown as soon as the newer version is read.
      setProblem(isCode(error, 'precondition_failed') ? null : error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="field">
      {isOld && isChanged && (
        <div class="banner is-bad conflict" role="alert">
          <StateMark mark="fail" />
          <span class="grow">
            <b>Someone else changed this block</b> at {showClock(now.updatedAt)}. Both versions are kept.
          </span>
          <button
            type="button"
            class="btn sm"
            onClick={() => {
              setBase(now);
              write(now.text);
            }}
          >
            Take theirs
          </button>
          <button type="button" class="btn sm" onClick={() => void save(now.version)}>
            Save mine over it
          </button>
        </div>
      )}
      {isOld && isChanged && <Difference before={now.text} after={text} label="Theirs and yours" />}
      <textarea
        class="input mono"
        rows={12}
        aria-label={`Text of ${label}`}
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
      />
      {problem && (
        <p class="bad" role="alert">
          Not saved. {problem}
        </p>
      )}
      <span class="acts">
        <button
          type="button"
          class={`btn${isChanged && !isOld ? ' main-act' : ''}`}
          disabled={!isChanged || isOld}
          onClick={() => void save(base?.version ?? 0)}
        >
          Save
        </button>
        <span class="muted" role="status">
          {saved
            ? `Saved as version ${base?.version}`
            : base
              ? `Version ${base.version}, ${showClock(base.updatedAt)}`
              : 'It does not exist yet'}
        </span>
      </span>
    </div>
  );
}

interface HistoryProps {
  readonly of: string;
  readonly label: string;
  readonly changes: readonly BlockChange[];
  readonly version: number;
}

function History({ of, label, changes, version }: HistoryProps) {
  const [open, setOpen] = useState<number | null>(null);
  if (changes.length === 0) return null;
  return (
    <section>
      <h3>History</h3>
      <ul class="lines">
        {changes.map((change, i) => (
          <li key={change.version} class="change">
            <button
              type="button"
              class="btn quiet sm"
              aria-expanded={open === change.version}
              onClick={() => setOpen(open === change.version ? null : change.version)}
            >
              Version {change.version}
            </button>
            <span class="muted grow cut">
              {change.by}
              {change.text === null && ' deleted it'}
            </span>
            <span class="faint small">{showClock(change.at)}</span>
            {change.version !== version && change.text !== null && (
              <button type="button" class="btn sm" onClick={() => void api.restoreBlock(of, label, change.version)}>
                Restore
              </button>
            )}
            {open === change.version && (
              <Difference
                before={changes[i + 1]?.text ?? ''}
                after={change.text ?? ''}
                label={`Change to version ${change.version}`}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
