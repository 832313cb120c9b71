import { useState } from 'preact/hooks';
import type { Agent, AgentSettings } from '../../../../src/client/browser.ts';
import { Field, FormDialog, type Given } from '../../parts/form-dialog.tsx';
import { api } from '../../state/session.ts';
import { ProviderField } from './provider-field.tsx';

/** The settings of an agent. They apply from its next turn; what somebody else changed meanwhile is not overwritten. */
export function ChangeAgent({ agent: given, onClose }: { readonly agent: Agent; readonly onClose: () => void }) {
  // As they were when the form was opened.
  const [agent] = useState(given);
  const save = async (form: Given): Promise<void> => {
    const change = changeOf(agent, form);
    if (Object.keys(change).length === 0) return;
    await api.changeAgent(agent.id, change, { ifRevision: agent.revision });
  };
  return (
    <FormDialog title={`Settings of ${agent.name}`} submit="Save" onSubmit={save} onClose={onClose}>
      <Field
        name="name"
        label="Name"
        required
        value={agent.name}
        hint="The handle stays; the former name still works."
      />
      <Field name="role" label="Role" value={agent.role} />
      <ProviderField value={agent.provider} />
      <Field name="model" label="Model" value={agent.model ?? ''} placeholder="the provider's own" />
      <Field
        name="tools"
        label="Tools"
        value={agent.tools?.join(', ') ?? ''}
        placeholder="all that its parent has"
        hint="Separated by commas."
      />
      <Field
        name="fallback"
        label="Fallback"
        value={agent.fallback?.join(', ') ?? ''}
        hint="Providers that take over at a limit, in this order."
      />
      <label class="field">
        <span>Instructions</span>
        <textarea class="input" name="instructions" rows={6} defaultValue={agent.instructions} />
      </label>
      {agent.state === 'busy' && <p class="small muted">It runs now. The turn in progress keeps its settings.</p>}
    </FormDialog>
  );
}

/** Only what was changed, so that two people can change different settings. */
function changeOf(agent: Agent, form: Given): AgentSettings {
  const list = (name: string): string[] | null => {
    const items = form
      .text(name)
      .split(/[\s,]+/)
      .filter((one) => one !== '');
    return items.length === 0 ? null : items;
  };
  const wanted = {
    name: form.text('name'),
    role: form.text('role'),
    provider: form.text('provider'),
    model: form.text('model') || null,
    tools: list('tools'),
    fallback: list('fallback'),
    instructions: form.text('instructions'),
  } as const;
  const changed = Object.entries(wanted).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(agent[key as keyof typeof wanted]),
  );
  return Object.fromEntries(changed) as AgentSettings;
}
