import { Loading } from '../../parts/loading.tsx';
import { plural } from '../../parts/numbers.ts';
import { Pane } from '../../parts/pane.tsx';
import { showClock } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { href } from '../../state/route.ts';
import { api } from '../../state/session.ts';

/** A document as it was cut into chunks, with the words that were searched for. */
export function DocumentPane({ id, query }: { readonly id: string; readonly query: string }) {
  const document = useLoad(`document ${id}`, () => api.getDocument(id));
  const words = query.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  return (
    <Pane
      label="Document"
      title={document.value?.title ?? document.value?.source_id ?? 'Document'}
      back={href('knowledge')}
      close="Close the document"
      region="Chunks"
    >
      <Loading of={document}>
        {(found) => (
          <div class="pane-body">
            <dl class="facts">
              <dt>Source</dt>
              <dd>{found.source}</dd>
              <dt>Path</dt>
              <dd class="mono">{found.source_id}</dd>
              <dt>Changed</dt>
              <dd>{showClock(found.updated_at)}</dd>
              <dt>Chunks</dt>
              <dd>{plural(found.chunks.length, 'chunk')}</dd>
            </dl>
            {found.chunks.map((chunk) => (
              <section key={chunk.index}>
                <h3>Chunk {chunk.index + 1}</h3>
                <pre class="value">{mark(chunk.text, words)}</pre>
              </section>
            ))}
          </div>
        )}
      </Loading>
    </Pane>
  );
}

function mark(text: string, words: readonly string[]) {
  if (words.length === 0) return text;
  const pattern = new RegExp(`(${words.join('|')})`, 'giu');
  return text.split(pattern).map((part, i) => (i % 2 === 1 ? <mark key={`${i} ${part}`}>{part}</mark> : part));
}
