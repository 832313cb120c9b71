import * as z from 'zod';
import type { OwnKind } from '../../core/own-tool.ts';

const path = z.string().min(1).describe('Relative to the workspace, or absolute.');

/** The tools for files and commands. They run in a process inside the sandbox (`workspace-process.cjs`), which is not trusted. */
export const workspaceTools = {
  read_file: {
    description:
      'Reads a text file, with line numbers, or shows an image (PNG, JPEG, GIF, WebP). A long file is cut: use offset and limit.',
    input: z.strictObject({
      path,
      offset: z.int().min(1).default(1).describe('The first line.'),
      limit: z.int().min(1).max(2_000).default(1_000).describe('The number of lines.'),
    }),
  },
  write_file: {
    description: 'Writes a file, replacing what it had. Creates directories that do not exist.',
    input: z.strictObject({ path, content: z.string() }),
  },
  edit_file: {
    description: 'Replaces a text in a file. The text must occur exactly once, unless replace_all is set.',
    input: z.strictObject({
      path,
      old_text: z.string().min(1),
      new_text: z.string(),
      replace_all: z.boolean().default(false),
    }),
  },
  list_files: {
    description: 'Lists a directory and the directories below it, without .git and node_modules.',
    input: z.strictObject({ path: path.default('.'), depth: z.int().min(1).max(20).default(2) }),
  },
  search_files: {
    description: 'Finds the lines that match an extended regular expression (grep -E) in the files below a path.',
    input: z.strictObject({
      pattern: z.string().min(1),
      path: path.default('.'),
      include: z.string().optional().describe('Only files whose name matches this, such as *.ts'),
    }),
  },
  run_command: {
    description:
      'Runs a shell command in the workspace and returns its output and exit code. It gets no input. Commands do not share variables or the current directory.',
    input: z.strictObject({
      command: z.string().min(1),
      timeout_seconds: z.int().min(1).max(600).default(120),
    }),
  },
} as const;

export type WorkspaceTool = keyof typeof workspaceTools;
/** What each takes, once its schema has accepted it. */
export type WorkspaceArguments = { readonly [T in WorkspaceTool]: z.output<(typeof workspaceTools)[T]['input']> };

export function isWorkspaceTool(name: string): name is WorkspaceTool {
  return Object.hasOwn(workspaceTools, name);
}

/** What policies call it. */
export function kindOf(name: WorkspaceTool): OwnKind {
  if (name === 'run_command') return 'shell';
  return name === 'write_file' || name === 'edit_file' ? 'write' : 'read';
}
