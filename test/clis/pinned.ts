import type { Pinned } from './installed.ts';

const platform = process.arch === 'arm64' ? 'aarch64-unknown-linux-musl' : 'x86_64-unknown-linux-musl';

export const CLAUDE: Pinned = {
  packages: ['@anthropic-ai/claude-code@2.1.325'],
  file: `@anthropic-ai/claude-code-linux-${process.arch}/claude`,
};

export const CODEX: Pinned = {
  packages: ['@openai/codex@0.166.0'],
  file: `@openai/codex-linux-${process.arch}/vendor/${platform}/bin/codex`,
};

export const PI: Pinned = {
  packages: ['@earendil-works/pi-coding-agent@0.86.1', 'pi-mcp-adapter@2.36.0'],
  file: '.bin/pi',
};
