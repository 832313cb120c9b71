import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { plural, showSize } from '../../parts/numbers.ts';
import { type ChosenFile, keepDraftFiles, readDraftFiles } from '../../state/draft-files.ts';

/** As the daemon allows. */
const MOST_FILES = 10;
const MOST_BYTES = 5 * 1024 * 1024;

export interface Files {
  readonly chosen: readonly ChosenFile[];
  /** Why some were not taken. */
  readonly problem: string | null;
  /** Whether they outlive the page. */
  readonly areKept: boolean;
  add(found: Iterable<File> | null | undefined): Promise<void>;
  remove(file: ChosenFile): void;
  clear(): void;
}

/**
 * The files of a message that is being written in a place: from the button, pasted, or dropped. They are part of the
 * draft: this browser keeps them until the message is sent.
 */
export function useFiles(place: string, onChange: () => void): Files {
  const [chosen, setChosen] = useState<readonly ChosenFile[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [areKept, setKept] = useState(true);
  // What is chosen now, also for those that are still being read.
  const current = useRef<readonly ChosenFile[]>([]);
  const show = (files: readonly ChosenFile[]): void => {
    current.current = files;
    setChosen(files);
  };
  useEffect(() => {
    let gone = false;
    void readDraftFiles(place).then((kept) => {
      if (!gone && kept.length > 0) show([...kept, ...current.current].slice(0, MOST_FILES));
    });
    return () => {
      gone = true;
    };
  }, [place]);
  const put = (files: readonly ChosenFile[], why: string | null): void => {
    show(files);
    setProblem(why);
    onChange();
    void keepDraftFiles(place, files).then(setKept);
  };
  return {
    chosen,
    problem,
    areKept,
    add: async (found) => {
      const all = [...(found ?? [])];
      if (all.length === 0) return;
      const large = all.filter(({ size }) => size > MOST_BYTES);
      const fitting = all.filter(({ size }) => size <= MOST_BYTES);
      const read = await Promise.all(fitting.map(toChosen));
      const next = [...current.current, ...read];
      const why = [
        ...large.map(({ name, size }) => `${name} has ${showSize(size)}; a file may have 5 MB.`),
        ...(next.length > MOST_FILES ? [`A message carries ${plural(MOST_FILES, 'file')}.`] : []),
      ];
      put(next.slice(0, MOST_FILES), why.join(' ') || null);
    },
    remove: (file) =>
      put(
        current.current.filter((one) => one !== file),
        null,
      ),
    clear: () => put([], null),
  };
}

/** The chosen files, each with a way to take it back. */
export function ChosenFiles({ files }: { readonly files: Files }) {
  if (files.chosen.length === 0 && files.problem === null) return null;
  return (
    <div class="chosen">
      <ul class="files" aria-label="Files to send">
        {files.chosen.map((file) => (
          <li key={file}>
            <span class="file">
              <Icon name="file" />
              <span class="cut">{file.name}</span>
              <span class="faint nowrap">{showSize(file.size)}</span>
              <button
                type="button"
                class="btn quiet square"
                aria-label={`Remove ${file.name}`}
                onClick={() => files.remove(file)}
              >
                <Icon name="close" />
              </button>
            </span>
          </li>
        ))}
      </ul>
      {files.problem && (
        <p class="bad small" role="alert">
          {files.problem}
        </p>
      )}
    </div>
  );
}

export function AttachButton({ files }: { readonly files: Files }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="btn quiet sm" onClick={() => field.current?.click()}>
        <Icon name="clip" />
        <span>Attach</span>
      </button>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          void files.add(event.currentTarget.files);
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}

async function toChosen(file: File): Promise<ChosenFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return { name: nameOf(file), size: bytes.length, data: btoa(text) };
}

/** A pasted picture is called "image.png" by every browser, so several would be hard to tell apart: it gets the time. */
function nameOf({ name, type }: File): string {
  const plain = name.replace(/[/\\\p{Cc}]/gu, '_').slice(-200) || 'file';
  if (plain !== 'image.png') return plain;
  return `picture-${new Date().toTimeString().slice(0, 8).replaceAll(':', '')}.${type.split('/')[1] ?? 'png'}`;
}
