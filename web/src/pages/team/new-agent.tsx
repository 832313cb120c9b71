import { useState } from 'preact/hooks';
import { Dialog } from '../../parts/dialog.tsx';
import { agentById, agentOrder } from '../../state/agents.ts';
import { go } from '../../state/route.ts';
import { api } from '../../state/session.ts';

/** The form of a new agent; empty fields are left to the configuration, or to the parent. */
export function NewAgent({ onClose }: { readonly onClose: () => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const given = new FormData(event.currentTarget);
    const text = (name: string): string | null => String(given.get(name) ?? '').trim() || null;
    try {
      const { handle } = await api.createAgent({
        name: text('name') ?? '',
        parent: text('parent'),
        role: text('role'),
        instructions: text('instructions') ?? '',
        provider: text('provider'),
        model: text('model'),
        program: text('program'),
        workspace: text('workspace'),
        persona: text('persona'),
      });
      onClose();
      go('team', handle);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Dialog label="New agent" onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => void create(event)}>
        <div class="dialog-head">
          <h2>New agent</h2>
        </div>
        <div class="dialog-body">
          <Field name="name" label="Name" required placeholder="lead" />
          <label class="field">
            <span>Parent</span>
            <select class="input" name="parent">
              <option value="">none: a team of its own</option>
              {agentOrder.value.map(({ id }) => (
                <option key={id} value={id}>
                  {agentById(id)?.handle}
                </option>
              ))}
            </select>
          </label>
          <Field name="persona" label="Persona" hint="Its name; see Knowledge." />
          <Field name="provider" label="Provider" placeholder="from the configuration" />
          <Field name="model" label="Model" />
          <Field name="program" label="Program" hint="For a scripted agent: the absolute path of its file." />
          <Field name="workspace" label="Workspace" hint="A name or an absolute path. Default: one of its own." />
          <Field name="role" label="Role" />
          <label class="field">
            <span>Instructions</span>
            <textarea class="input" name="instructions" rows={4} />
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

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
}

function Field({ name, label, hint, placeholder, required = false }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input class="input" name={name} placeholder={placeholder} required={required} autocomplete="off" />
      {hint && <small>{hint}</small>}
    </label>
  );
}
