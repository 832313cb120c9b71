import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { PersonaChoice, PersonaInfo, PersonaPrompt } from '../core/persona.ts';
import { cleanText, shorten } from '../core/text.ts';
import type { Personas } from '../personas/personas.ts';

/** Returns the persona for a new agent. Throws if it does not exist or an argument is missing. */
export async function findPersona(open: () => Promise<Personas>, choice: PersonaChoice): Promise<PersonaInfo> {
  const personas = await open();
  return saying(choice.name, async () => personas.check(choice.name, choice.arguments));
}

/** Resolves the agent's persona. Errors name the persona, for the person or agent that started the run. */
export async function askPersona(
  open: () => Promise<Personas>,
  agent: Agent,
  { timeoutMs }: { readonly timeoutMs?: number } = {},
): Promise<PersonaPrompt | null> {
  const { persona: name, personaArgs } = agent;
  if (name === null) return null;
  const args = personaArgs ?? {};
  const personas = await open();
  const { system, tools, messages } = await saying(name, () => personas.resolve(name, args, { timeoutMs }));
  return {
    system: cleanText(system),
    tools,
    messages: messages.map(({ role, content }) => ({ role, content: cleanText(content) })),
  };
}

async function saying<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error;
    const { code, message } = error;
    const said =
      code === 'not_found'
        ? `There is no persona "${shorten(name)}" in the configuration. Add [agents.${shorten(name)}], or create the agent from another persona.`
        : `The persona "${shorten(name)}" cannot be used: ${message}`;
    throw new SubstratError(code, said, { cause: error });
  }
}
