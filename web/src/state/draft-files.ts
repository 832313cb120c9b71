import { BASE } from './storage.ts';

/** A file that goes with the next message. */
export interface ChosenFile {
  readonly name: string;
  readonly size: number;
  /** In base64. */
  readonly data: string;
}

interface Kept {
  readonly place: string;
  readonly at: number;
  readonly files: readonly ChosenFile[];
}

/** Drafts with files, at most; the oldest are forgotten first, and all after a month. */
const MOST_DRAFTS = 8;
const MONTH_MS = 30 * 86_400_000;
const STORE = 'files';

/** The files of a draft that this browser keeps; none if it refuses to. */
export async function readDraftFiles(place: string): Promise<readonly ChosenFile[]> {
  try {
    const kept = await inStore<Kept | undefined>('readonly', (store) => store.get(place));
    return kept && kept.at > Date.now() - MONTH_MS ? kept.files : [];
  } catch {
    return [];
  }
}

/** Keeps the files of a draft, or forgets them if there are none. Returns whether the browser has them. */
export async function keepDraftFiles(place: string, files: readonly ChosenFile[]): Promise<boolean> {
  try {
    if (files.length === 0) await inStore('readwrite', (store) => store.delete(place));
    else await inStore('readwrite', (store) => store.put({ place, at: Date.now(), files } satisfies Kept));
    await forgetOld();
    return true;
  } catch {
    // Full or forbidden: they live as long as the page.
    return false;
  }
}

async function forgetOld(): Promise<void> {
  const places = await inStore<IDBValidKey[]>('readonly', (store) => store.index('at').getAllKeys());
  const old = await inStore<IDBValidKey[]>('readonly', (store) =>
    store.index('at').getAllKeys(IDBKeyRange.upperBound(Date.now() - MONTH_MS)),
  );
  const many = places.slice(0, Math.max(0, places.length - MOST_DRAFTS));
  for (const place of new Set([...old, ...many])) await inStore('readwrite', (store) => store.delete(place));
}

let opened: Promise<IDBDatabase> | null = null;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(`substrat:${BASE}:drafts`, 1);
    request.onupgradeneeded = () =>
      request.result.createObjectStore(STORE, { keyPath: 'place' }).createIndex('at', 'at');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  // The next one tries again.
  opened.catch(() => {
    opened = null;
  });
  return opened;
}

async function inStore<T>(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  const transaction = (await open()).transaction(STORE, mode);
  const request = ask(transaction.objectStore(STORE));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result as T);
    transaction.onabort = () => reject(transaction.error);
    transaction.onerror = () => reject(transaction.error);
  });
}
