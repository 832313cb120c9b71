import { useState } from 'preact/hooks';
import { Field, FormDialog, type Given } from '../../parts/form-dialog.tsx';
import { agentById, agentOrder } from '../../state/agents.ts';
import { useLoad } from '../../state/load.ts';
import { go } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { ProviderField } from './provider-field.tsx';

/** The form of a new agent, from nothing or from a persona; empty fields are left to the configuration, or the parent. */
export function NewAgent({ onClose }: { readonly onClose: () => void }) {
  const personas = useLoad('personas', async () => (await api.listPersonas()).agents);
  const [name, setName] = useState('');
  const persona = personas.value?.find((one) => one.name === name) ?? null;
  const create = async (given: Given): Promise<void> => {
    const text = (field: string): string | null => given.text(field) || null;
    const args = (persona?.arguments ?? []).flatMap((one) => {
      const value = given.text(`argument ${one.name}`);
      return value === '' ? [] : [[one.name, value]];
    });
    const { handle } = await api.createAgent({
      name: given.text('name'),
      parent: text('parent'),
      role: text('role'),
      instructions: given.text('instructions'),
      provider: text('provider'),
      model: text('model'),
      program: text('program'),
      workspace: text('workspace'),
      persona: text('persona'),
      ...(persona && { arguments: Object.fromEntries(args) as Record<string, string> }),
    });
    go('team', handle);
  };
  return (
    <FormDialog title="New agent" submit="Create" onSubmit={create} onClose={onClose}>
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
      <label class="field">
        <span>Persona</span>
        <select
          class="input"
          name="persona"
          value={name}
          disabled={(personas.value ?? []).length === 0}
          onChange={(event) => setName(event.currentTarget.value)}
        >
          <option value="">none</option>
          {personas.value?.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
        <small>{persona?.description ?? 'A persona of the configuration gives it a prompt and tools.'}</small>
      </label>
      {persona?.arguments.map((one) => (
        <Field
          key={one.name}
          name={`argument ${one.name}`}
          label={one.required ? one.name : `${one.name} (optional)`}
          required={one.required}
          hint={one.description}
        />
      ))}
      <ProviderField />
      <Field name="model" label="Model" />
      <Field name="program" label="Program" hint="For a scripted agent: the absolute path of its file." />
      <Field name="workspace" label="Workspace" hint="A name or an absolute path. Default: one of its own." />
      <Field name="role" label="Role" />
      <label class="field">
        <span>Instructions</span>
        <textarea class="input" name="instructions" rows={4} />
      </label>
    </FormDialog>
  );
}
