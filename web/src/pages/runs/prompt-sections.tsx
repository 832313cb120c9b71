import { showCount } from '../../parts/numbers.ts';
import { Value } from './value.tsx';
import { type PromptSection, tokensOf } from './waterfall.ts';

/** A prompt, section by section; each opens by itself. */
export function PromptSections({ sections }: { readonly sections: readonly PromptSection[] }) {
  return (
    <section>
      <h3>
        <span class="grow">Sections</span>
        <span>tokens, about</span>
      </h3>
      {sections.map(({ name, text }, i) => (
        <details key={i} class="section" open={sections.length === 1}>
          <summary>
            <span class="grow">{name}</span>
            <span class="faint num">{showCount(tokensOf(text))}</span>
          </summary>
          <Value name={name} text={text} isInner />
        </details>
      ))}
    </section>
  );
}
