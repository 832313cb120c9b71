import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { go } from '../state/route.ts';
import { api } from '../state/session.ts';

export function NewChannel({ onClose }: { readonly onClose: () => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const given = new FormData(event.currentTarget);
    const text = (name: string): string => String(given.get(name) ?? '').trim();
    try {
      const { id } = await api.createChannel({
        id: text('id'),
        topic: text('topic'),
        kind: given.has('private') ? 'private' : 'public',
        members: text('members')
          .split(/[\s,]+/)
          .filter((handle) => handle !== ''),
      });
      onClose();
      go('talk', id);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Dialog label="New channel" onClose={onClose}>
      <form onSubmit={(event) => void create(event)}>
        <div class="dialog-head">
          <h2>New channel</h2>
        </div>
        <div class="dialog-body">
          <label class="field">
            <span>Name</span>
            <input class="input" name="id" required placeholder="payments" autocomplete="off" />
            <small>Lower case letters, digits and dashes.</small>
          </label>
          <label class="field">
            <span>Topic</span>
            <input class="input" name="topic" autocomplete="off" />
          </label>
          <label class="field">
            <span>Members</span>
            <input class="input" name="members" placeholder="ada, ben" autocomplete="off" />
            <small>Agents and people, separated by commas. You are a member.</small>
          </label>
          <label>
            <input type="checkbox" name="private" /> Private: only members see it
          </label>
          {problem && (
            <p class="bad" role="alert">
              {problem}
            </p>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn main-act">
            Create
          </button>
        </div>
      </form>
    </Dialog>
  );
}
