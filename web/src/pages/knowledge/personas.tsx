import { useState } from 'preact/hooks';
import type { PersonaInfo, PersonaPrompt } from '../../../../src/client/browser.ts';
import { Empty } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loading } from '../../parts/loading.tsx';
import { useLoad } from '../../state/load.ts';
import { go, href } from '../../state/route.ts';
import { api } from '../../state/session.ts';

/** The personas of the configuration: their arguments, the prompt that comes of them, and an agent made from one. */
export function Personas({ name }: { readonly name: string | null }) {
  const personas = useLoad('personas', async () => (await api.listPersonas()).agents);
  return (
    <Loading of={personas}>
      {(all) => {
        const chosen = all.find((persona) => persona.name === name);
        if (all.length === 0) {
          return (
            <Empty icon="knowledge" title="There is no persona">
              Describe one in <code>[agents.NAME]</code> of the configuration: docs/personas.md.
            </Empty>
          );
        }
        return (
          <div class={`split list${chosen ? ' has-pane' : ''}`}>
            <div class="col queue-col">
              <div class="scroll">
                {all.map((persona) => (
                  <a
                    key={persona.name}
                    class="q hit"
                    href={href('knowledge', 'personas', persona.name)}
                    aria-current={persona === chosen ? 'true' : undefined}
                  >
                    <span class="title cut">{persona.name}</span>
                    <span class="since">{persona.source}</span>
                    <span class="sub">{persona.description}</span>
                  </a>
                ))}
              </div>
            </div>
            <div class="col">
              {chosen ? (
                <PersonaPane key={chosen.name} persona={chosen} />
              ) : (
                <Empty icon="knowledge" title="Choose a persona" />
              )}
            </div>
          </div>
        );
      }}
    </Loading>
  );
}

function PersonaPane({ persona }: { readonly persona: PersonaInfo }) {
  const [args, setArgs] = useState<Readonly<Record<string, string>>>({});
  const [agent, setAgent] = useState(persona.name);
  const [prompt, setPrompt] = useState<PersonaPrompt | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const attempt = (what: () => Promise<void>): void => {
    setProblem(null);
    what().catch((error: Error) => setProblem(error.message));
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Persona">
      <div class="detail">
        <a class="btn quiet sm narrow" href={href('knowledge', 'personas')}>
          <Icon name="back" />
          Personas
        </a>
        <h2 class="big">{persona.name}</h2>
        <p class="muted">{persona.description}</p>
        {persona.arguments.map((argument) => (
          <label key={argument.name} class="field">
            <span>
              {argument.name}
              {argument.required ? '' : ' (optional)'}
            </span>
            <input
              class="input"
              value={args[argument.name] ?? ''}
              onInput={(event) => setArgs({ ...args, [argument.name]: event.currentTarget.value })}
            />
            <small>{argument.description}</small>
          </label>
        ))}
        <label class="field">
          <span>Name of the new agent</span>
          <input class="input" value={agent} onInput={(event) => setAgent(event.currentTarget.value)} />
        </label>
        <div class="acts">
          <button
            type="button"
            class="btn main-act"
            disabled={agent.trim() === ''}
            onClick={() =>
              attempt(async () => {
                const { handle } = await api.createAgent({ name: agent, persona: persona.name, arguments: args });
                go('team', handle);
              })
            }
          >
            Start an agent
          </button>
          <button
            type="button"
            class="btn"
            onClick={() => attempt(async () => setPrompt((await api.resolvePersona(persona.name, args)).result))}
          >
            Show the prompt
          </button>
        </div>
        {problem && (
          <p class="bad" role="alert">
            {problem}
          </p>
        )}
        <p class="small muted">Tools: {persona.tools.length > 0 ? persona.tools.join(', ') : 'all'}</p>
        {prompt && <pre class="value">{prompt.system}</pre>}
        {prompt?.messages.map((message) => (
          <pre key={message.content} class="value">
            {message.role}: {message.content}
          </pre>
        ))}
      </div>
    </div>
  );
}
