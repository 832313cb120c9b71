import { useState } from 'preact/hooks';
import type { Message } from '../../../../src/client/browser.ts';
import { Icon } from '../../parts/icon.tsx';
import { showSize } from '../../parts/numbers.ts';
import { api } from '../../state/session.ts';
import { shown } from '../../text/shown.ts';

type Attachment = Message['attachments'][number];

/** The files of a message. A picture is shown where it is, any other file is saved; nothing is read before one asks. */
export function Attached({ message }: { readonly message: Message }) {
  return (
    <ul class="files" aria-label="Files">
      {message.attachments.map((file, position) => (
        <AttachedFile key={position} messageId={message.messageId} file={file} position={position} />
      ))}
    </ul>
  );
}

function AttachedFile(props: { readonly messageId: string; readonly file: Attachment; readonly position: number }) {
  const { messageId, file, position } = props;
  const [picture, setPicture] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  // Recognized by the daemon by its bytes: a drawing that can run script is none of them.
  const isPicture = /^image\/(png|jpeg|gif|webp)$/.test(file.mediaType);
  const open = async (): Promise<void> => {
    setProblem(null);
    if (picture !== null) return setPicture(null);
    try {
      const { data } = await api.getAttachment(messageId, position);
      if (isPicture) setPicture(`data:${file.mediaType};base64,${data}`);
      else save(file.name, data);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <li>
      <button
        type="button"
        class="file"
        aria-expanded={isPicture ? picture !== null : undefined}
        onClick={() => void open()}
      >
        <Icon name={isPicture ? 'picture' : 'file'} />
        <span class="cut">{shown(file.name)}</span>
        <span class="faint nowrap">{showSize(file.size)}</span>
        <span class="sr">{isPicture ? (picture ? 'hide' : 'show') : 'save'}</span>
      </button>
      {problem && <span class="bad small"> {problem}</span>}
      {picture !== null && <img class="picture" src={picture} alt={file.name} />}
    </li>
  );
}

/** Saved as bytes without a type, so that no browser opens it as a page of this origin. */
function save(name: string, data: string): void {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
