import { Field, FormDialog, type Given } from '../parts/form-dialog.tsx';
import { go } from '../state/route.ts';
import { api } from '../state/session.ts';

export function NewChannel({ onClose }: { readonly onClose: () => void }) {
  const create = async (given: Given): Promise<void> => {
    const { id } = await api.createChannel({
      id: given.text('id'),
      topic: given.text('topic'),
      kind: given.has('private') ? 'private' : 'public',
      members: given
        .text('members')
        .split(/[\s,]+/)
        .filter((handle) => handle !== ''),
    });
    go('talk', id);
  };
  return (
    <FormDialog title="New channel" submit="Create" onSubmit={create} onClose={onClose}>
      <Field name="id" label="Name" required placeholder="payments" hint="Lower case letters, digits and dashes." />
      <Field name="topic" label="Topic" />
      <Field
        name="members"
        label="Members"
        placeholder="ada, ben"
        hint="Agents and people, separated by commas. You are a member."
      />
      <label>
        <input type="checkbox" name="private" /> Private: only members see it
      </label>
    </FormDialog>
  );
}
