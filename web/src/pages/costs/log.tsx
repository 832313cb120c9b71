import { useEffect, useState } from 'preact/hooks';
import type { LogEntry } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Loading } from '../../parts/loading.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { StateMark } from '../../parts/state-mark.tsx';
import { showFull } from '../../parts/time.ts';
import { useLoad } from '../../state/load.ts';
import { api } from '../../state/session.ts';
import { shown } from '../../text/shown.ts';

const LEVELS = ['info', 'warn', 'error'] as const;
const NAMES = { info: 'all', warn: 'warnings', error: 'errors' } as const;
const MARKS = { info: 'idle', warn: 'need', error: 'fail' } as const;
const PAUSE_MS = 250;
const MOST = 300;

/** The daemon's log, filtered; newest first. */
export function Log() {
  const [level, setLevel] = useState<LogEntry['level']>('info');
  const [typed, setTyped] = useState('');
  const [text, setText] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setText(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const log = useLoad(`log ${level} ${text}`, () => api.listLog({ level, q: text || undefined, limit: MOST }));
  return (
    <section class="part">
      <div class="part-head">
        <h2>Log</h2>
        <div class="tabs">
          {LEVELS.map((one) => (
            <button key={one} type="button" aria-pressed={level === one} onClick={() => setLevel(one)}>
              {NAMES[one]}
            </button>
          ))}
        </div>
        <SearchField label="Only entries with this text" value={typed} onInput={setTyped} />
        <button type="button" class="btn sm" onClick={log.reload}>
          Read again
        </button>
      </div>
      <Loading of={log}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="search" title="No entry is like that">
              The log has the last megabyte of what this daemon did. It contains no messages and no prompts.
            </Empty>
          ) : (
            <ol class="log-lines" aria-label="Entries, newest first">
              {items.map((entry, i) => (
                <li key={`${entry.at} ${i}`}>
                  <StateMark mark={MARKS[entry.level]} />
                  <time class="faint nowrap" dateTime={entry.at}>
                    {showFull(entry.at)}
                  </time>
                  <span class="wrap">
                    {entry.level !== 'info' && <span class="sr">{entry.level}: </span>}
                    {shown(entry.message)}{' '}
                    <span class="faint mono">
                      {Object.entries(entry.details)
                        .map(([key, value]) => shown(`${key}=${value}`))
                        .join(' ')}
                    </span>
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Loading>
    </section>
  );
}
