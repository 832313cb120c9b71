import * as z from 'zod';

const option = z.looseObject({
  id: z.string(),
  category: z.string().nullish(),
  currentValue: z.unknown().optional(),
  options: z.unknown().optional(),
});

/** A session as `session/new`, `session/load` or `session/resume` describes it. */
export const opened = z.looseObject({
  sessionId: z.string().optional(),
  configOptions: z.array(option).nullish().catch(null),
  models: z.looseObject({ currentModelId: z.string().nullish() }).nullish().catch(null),
});

type Choice = { readonly method: string; readonly params: object };

/** How the session is given the agent's model; `current` if it has it, null if the program offers no way. */
export function choiceOf(
  { configOptions, models }: z.infer<typeof opened>,
  model: string | null,
): Choice | 'current' | null {
  if (model === null) return 'current';
  const select = configOptions?.find(({ id, category }) => category === 'model' || id === 'model');
  if (select) {
    if (select.currentValue === model) return 'current';
    return { method: 'session/set_config_option', params: { configId: select.id, value: model } };
  }
  if (!models) return null;
  return models.currentModelId === model ? 'current' : { method: 'session/set_model', params: { modelId: model } };
}
