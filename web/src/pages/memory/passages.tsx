import { useState } from 'preact/hooks';
import { Loading } from '../../parts/loading.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { showClock } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { api } from '../../state/session.ts';

/** What an agent stored for later, found as it finds it. */
export function Passages({ of }: { readonly of: string }) {
  const [query, setQuery] = useState('');
  const found = useLoad(
    `passages ${of} ${query}`,
    async () => (await api.listPassages(of, { limit: 50, ...(query.trim() && { q: query }) })).items,
    ({ type }) => type.startsWith('passage_'),
  );
  return (
    <section aria-label="Passages">
      <h2 class="group">Passages</h2>
      <div class="more-row">
        <SearchField label="Search passages" value={query} onInput={setQuery} />
      </div>
      <Loading of={found}>
        {(items) => (
          <>
            {items.map((passage) => (
              <article key={passage.id} class="passage" aria-label={`Passage, ${showClock(passage.createdAt)}`}>
                <p class="wrap">{passage.content}</p>
                <p class="faint small acts">
                  {showClock(passage.createdAt)} {passage.tags.join(', ')}
                  <button
                    type="button"
                    class="btn quiet sm danger"
                    onClick={() => void api.deletePassage(of, passage.id).then(found.reload)}
                  >
                    Delete
                  </button>
                </p>
              </article>
            ))}
            {items.length === 0 && <p class="more-row muted">{query ? 'Nothing matches.' : 'It stored nothing.'}</p>}
          </>
        )}
      </Loading>
    </section>
  );
}
