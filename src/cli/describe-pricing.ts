import type { Provider } from '../client/client.ts';
import { counted } from '../core/text.ts';

type Pricing = Provider['pricing'];

/** Where the costs of a provider come from, with the day of its prices. */
export function describePricing({ kind, every, models, assumed, source, asOf }: Pricing): string {
  if (kind === 'reported' || kind === 'unknown') return kind;
  const several = Object.keys(models).length;
  const configured = [asOf === null ? 'undated' : `of ${asOf}`, ...(source === null ? [] : [source])];
  return [
    ...(every ? [amounts(every)] : []),
    ...(several > 0 ? [counted(several, 'model')] : []),
    ...(kind === 'configured' ? configured : []),
    ...(assumed ? [`${amounts(assumed)} assumed`] : []),
  ].join(', ');
}

function amounts({ input, output }: { readonly input: number; readonly output: number }): string {
  return `$${input}/$${output}`;
}
