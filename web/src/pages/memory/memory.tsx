import { useState } from 'preact/hooks';
import type { Block } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Loading } from '../../parts/loading.tsx';
import { PageBar } from '../../parts/page-bar.tsx';
import { showClock } from '../../parts/time.ts';
import { agentById, agentOrder } from '../../state/agents.ts';
import { useLoad } from '../../state/load.ts';
import { go, href, route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { BlockPane } from './block-pane.tsx';
import { Passages } from './passages.tsx';

/** The blocks that an agent always sees, and the passages that it can find. */
export function Memory() {
  const [, of = 'user', label] = route.value;
  const blocks = useLoad(
    `blocks ${of}`,
    async () => (await api.listBlocks(of)).items,
    ({ type }) => type.startsWith('memory_'),
  );
  return (
    <>
      <PageBar title="Memory">
        <label>
          <span class="sr">Whose memory</span>
          <select class="input" value={of} onChange={(event) => go('memory', event.currentTarget.value)}>
            <option value="user">yours</option>
            {agentOrder.value.map(({ id }) => (
              <option key={id} value={agentById(id)?.handle}>
                {agentById(id)?.handle}
              </option>
            ))}
          </select>
        </label>
      </PageBar>
      <div class={`split list${label === undefined ? '' : ' has-pane'}`}>
        <div class="col queue-col">
          <div class="scroll" tabIndex={0} role="region" aria-label="Blocks and passages">
            <Loading of={blocks}>{(items) => <Blocks of={of} items={items} open={label} />}</Loading>
            <NewBlock of={of} />
            {of !== 'user' && <Passages key={of} of={of} />}
          </div>
        </div>
        <div class="col">
          {label === undefined ? (
            <Empty icon="memory" title="Choose a block">
              A block is a text that an agent sees in every turn. It may change its own blocks at any time.
            </Empty>
          ) : (
            <BlockPane key={`${of} ${label}`} of={of} label={label} />
          )}
        </div>
      </div>
    </>
  );
}

function Blocks({
  of,
  items,
  open,
}: {
  readonly of: string;
  readonly items: readonly Block[];
  readonly open: string | undefined;
}) {
  return (
    <section aria-label="Blocks">
      <h2 class="group">
        <span class="grow">Blocks</span>
        <span>{items.length}</span>
      </h2>
      {items.map((block) => (
        <a
          key={block.label}
          class="q"
          href={href('memory', of, block.label)}
          aria-current={block.label === open ? 'true' : undefined}
        >
          <span class="faint small">{block.version}</span>
          <span class="title cut">{block.label}</span>
          <span class="since">{showClock(block.updatedAt)}</span>
          <span class="sub">{describe(block, of)}</span>
        </a>
      ))}
      {items.length === 0 && <p class="more-row muted">There is no block.</p>}
    </section>
  );
}

function describe(block: Block, of: string): string {
  const shared =
    block.sharedWith.length > 0
      ? ` Shared with ${block.sharedWith.join(', ')}${block.open ? ', who may change it' : ''}.`
      : '';
  const whose = block.owner === of ? '' : `Of ${block.owner}.`;
  return `${whose}${shared}`.trim() || `${block.text.length} characters`;
}

function NewBlock({ of }: { readonly of: string }) {
  const [label, setLabel] = useState('');
  const open = (): void => {
    if (label.trim() !== '') go('memory', of, label.trim());
  };
  return (
    <div class="more-row acts">
      <input
        class="input new-label"
        aria-label="Label of a new block"
        placeholder="New block"
        value={label}
        onInput={(event) => setLabel(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && open()}
      />
      <button type="button" class="btn" disabled={label.trim() === ''} onClick={open}>
        Write
      </button>
    </div>
  );
}
