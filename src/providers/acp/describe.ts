import type { Description, Fields, InstalledProgram } from '../description.ts';

/** How an agent of the ACP registry is started once it is installed. */
const presets: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>> = {
  auggie: { command: 'auggie', args: ['--acp'] },
  'claude-acp': { command: 'claude-agent-acp', args: [] },
  'codex-acp': { command: 'codex-acp', args: [] },
  cursor: { command: 'cursor-agent', args: ['acp'] },
  devin: { command: 'devin', args: ['acp'] },
  goose: { command: 'goose', args: ['acp'] },
  'grok-build': { command: 'grok', args: ['agent', 'stdio'] },
  junie: { command: 'junie', args: ['--acp=true'] },
  kilo: { command: 'kilo', args: ['acp'] },
  kimi: { command: 'kimi', args: ['acp'] },
  'mistral-vibe': { command: 'vibe-acp', args: [] },
  qoder: { command: 'qodercli', args: ['--acp'] },
  stakpak: { command: 'stakpak', args: ['acp'] },
};

/** The names of providers with `kind = "acp"` that need no `command`. */
export const ACP_PRESETS: readonly string[] = Object.keys(presets);

/** How the program of a provider with `kind = "acp"` is started; null if neither the table nor a preset says it. */
export function acpStart(
  name: string,
  { command, args }: { readonly command: string | null; readonly args: readonly string[] },
): { readonly command: string; readonly args: readonly string[] } | null {
  if (command !== null) return { command, args };
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  return preset ? { command: preset.command, args: [...preset.args, ...args] } : null;
}

/** The keys of a table with `kind = "acp"`. */
export const acpSettings = ({ z, program }: Fields) => ({
  kind: z.literal('acp', { error: 'must be "acp"' }),
  ...program,
  /** Its own tools are allowed; otherwise only Substrat's. */
  own_tools: z.boolean().default(true),
  /** Hosts that its turns may reach in a sandbox, such as its model's. */
  hosts: z.array(z.string().min(1)).default([]),
  /** Files below the person's home that it finds in a sandbox, read-only, such as its login. */
  login_files: z
    .array(z.string().regex(/^(?!\/)(?!.*(^|\/)\.\.?(\/|$))./, 'must be a path below your home'))
    .default([]),
  /** The method of its `initialize` answer by which it logs in before a session starts. */
  auth_method: z.string().min(1).nullable().default(null),
  /** It takes the address of its model from the variable of this API, so its key stays outside of the sandbox. */
  api: z.enum(['anthropic', 'openai', 'gemini']).nullable().default(null),
});

/** What is known of a provider with `kind = "acp"`. */
export function describeAcp(name: string, command: string): Description & { readonly program: InstalledProgram } {
  return {
    name,
    settings: acpSettings,
    program: {
      command,
      install: `Install it, or set \`[providers.${name}] command\`.`,
      // Programs answer this question in many ways, and some start.
      versionProblem: null,
    },
  };
}
