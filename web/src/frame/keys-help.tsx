import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { listShortcuts } from '../state/keys.ts';

const isMac = /Mac|iP/.test(navigator.platform);

export function KeysHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog label="Keys" onClose={onClose}>
      <div class="dialog-head">
        <h2 class="grow">Keys</h2>
        <button type="button" class="btn quiet square" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="dialog-body">
        <dl class="keys-list">
          {listShortcuts().map(({ keys, what }) => [
            <dt key={`${keys} key`}>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{showKey(key)}</kbd>
              ))}
            </dt>,
            <dd key={keys}>{what}</dd>,
          ])}
        </dl>
      </div>
    </Dialog>
  );
}

function showKey(key: string): string {
  return key.startsWith('mod+') ? `${isMac ? '⌘' : 'Ctrl'} ${key.slice(4).toUpperCase()}` : key;
}
