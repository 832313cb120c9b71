import { useEffect, useState } from 'preact/hooks';
import type { SearchResult } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Loading } from '../../parts/loading.tsx';
import { PageBar } from '../../parts/page-bar.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showClock } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { href, route } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { DocumentPane } from './document-pane.tsx';
import { Personas } from './personas.tsx';

const PAUSE_MS = 150;

/** Search as one types; sources and personas beside it. */
export function Knowledge() {
  const [, part, id] = route.value;
  const [typed, setTyped] = useState('');
  const query = useCalm(typed.trim());
  const isOpen = part === 'document' && id !== undefined;
  return (
    <>
      <PageBar title="Knowledge">
        <nav class="tabs" aria-label="Parts">
          <a href={href('knowledge')} aria-current={part !== 'personas' ? 'page' : undefined}>
            Search
          </a>
          <a href={href('knowledge', 'personas')} aria-current={part === 'personas' ? 'page' : undefined}>
            Personas
          </a>
        </nav>
      </PageBar>
      {part === 'personas' ? (
        <Personas name={id ?? null} />
      ) : (
        <div class={`split${isOpen ? ' has-pane' : ' alone'}`}>
          <div class="col">
            <div class="more-row">
              <SearchField
                label="Search the knowledge base"
                placeholder="Words, a “phrase”, a question, an error message"
                value={typed}
                onInput={setTyped}
              />
            </div>
            <div class="scroll" tabIndex={0} role="region" aria-label="Results">
              {query === '' ? <Sources /> : <Results query={query} open={isOpen ? id : null} />}
            </div>
          </div>
          {isOpen && <DocumentPane key={id} id={id} query={query} />}
        </div>
      )}
    </>
  );
}

function Results({ query, open }: { readonly query: string; readonly open: string | null }) {
  const found = useLoad(
    `search ${query}`,
    async () => (await api.searchKnowledge({ query, limit: 20, explain: true })).results,
  );
  return (
    <Loading of={found}>
      {(results) => (
        <>
          {results.map((result) => (
            <a
              key={result.id}
              class="q hit"
              href={href('knowledge', 'document', result.id)}
              aria-current={result.id === open ? 'true' : undefined}
            >
              <span class="title cut">{result.title ?? result.source_id}</span>
              <span class="since">{result.score.toFixed(2)}</span>
              <span class="sub">{result.snippet}</span>
              <span class="sub faint">
                {result.source} · {showClock(result.updated_at)} · {partsOf(result)}
              </span>
            </a>
          ))}
          {results.length === 0 && (
            <Empty icon="search" title="No document matches">
              Fewer or other words may help. Sources are read by <code>ctx sync</code>.
            </Empty>
          )}
        </>
      )}
    </Loading>
  );
}

/** What the score is made of. */
function partsOf({ explain }: SearchResult): string {
  if (!explain) return '';
  const words = explain.keyword
    ? `words ${explain.keyword.score.toFixed(2)} (rank ${explain.keyword.rank})`
    : 'no word';
  const meaning = explain.semantic
    ? `, meaning ${explain.semantic.score.toFixed(2)} (rank ${explain.semantic.rank})`
    : '';
  return `${explain.mode}: ${words}${meaning}`;
}

function Sources() {
  const sources = useLoad('sources', async () => (await api.listSources()).sources);
  return (
    <Loading of={sources}>
      {(items) =>
        items.length === 0 ? (
          <Empty icon="knowledge" title="There is no source">
            Add a <code>[connectors]</code> table to the configuration and run <code>ctx sync</code>.
          </Empty>
        ) : (
          <table class="tbl">
            <thead>
              <tr>
                <th>Source</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {items.map((source) => (
                <tr key={source.name}>
                  <td>{source.name}</td>
                  <td>
                    <div class={`why ${source.healthy ? 'done' : 'fail'}`}>
                      <StateMark mark={source.healthy ? 'done' : 'fail'} />
                      <span class="txt wrap">
                        {source.notes ?? (source.healthy ? 'in step' : 'not read yet')}
                        {!source.configured && ', no longer in the configuration'}
                      </span>
                    </div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Loading>
  );
}

/** A value that has not changed for a moment. */
function useCalm(value: string): string {
  const [calm, setCalm] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return calm;
}
