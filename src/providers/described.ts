import { EXTERNAL } from '../core/provider-names.ts';
import { claude } from './claude/describe.ts';
import { codex } from './codex/describe.ts';
import { copilot } from './copilot/describe.ts';
import { cursorAgent } from './cursor-agent/describe.ts';
import { gemini } from './gemini/describe.ts';
import { llm } from './llm/describe.ts';
import { opencode } from './opencode/describe.ts';
import { pi } from './pi/describe.ts';
import { qwen } from './qwen/describe.ts';
import { scripted } from './scripted/describe.ts';

export { ACP_PRESETS, acpSettings, acpStart } from './acp/describe.ts';
export type { Description, Fields, InstalledProgram } from './description.ts';

/** Every provider. `config` and `cli` may import this file, and nothing else of this room. */
export const described = [scripted, claude, codex, cursorAgent, opencode, gemini, copilot, qwen, pi, llm] as const;

type Described = (typeof described)[number];
export type ProviderName = Described['name'];
/** The description of the provider with that name. */
export type Describes<Name extends ProviderName> = Extract<Described, { readonly name: Name }>;

/** The names of everything that can run an agent, for help and errors. */
export const PROVIDER_NAMES: readonly string[] = [...described.map(({ name }) => name), EXTERNAL];
