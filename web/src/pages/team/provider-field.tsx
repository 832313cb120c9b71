import { useLoad } from '../../state/load.ts';
import { api } from '../../state/session.ts';

/** The providers that this daemon knows; one whose program is missing says so. */
export function ProviderField({ value = '' }: { readonly value?: string }) {
  const providers = useLoad('providers', async () => (await api.listProviders()).items);
  // An external agent has no program: somebody joins it.
  const found = [...(providers.value ?? []), { name: 'external', found: true }];
  const names = found.map(({ name }) => name);
  return (
    <label class="field">
      <span>Provider</span>
      <select class="input" name="provider" key={names.length} defaultValue={value}>
        {value === '' && <option value="">from the parent or the configuration</option>}
        {value !== '' && !names.includes(value) && <option value={value}>{value}</option>}
        {found.map((one) => (
          <option key={one.name} value={one.name} selected={one.name === value}>
            {one.name}
            {one.found ? '' : ' (not installed)'}
          </option>
        ))}
      </select>
    </label>
  );
}
