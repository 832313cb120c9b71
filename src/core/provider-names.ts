/** Run by somebody else, such as the person's own window. */
export const EXTERNAL = 'external';

/** What can run an agent, for help and errors. */
export const PROVIDER_NAMES = ['scripted', 'cursor-agent', EXTERNAL] as const;
