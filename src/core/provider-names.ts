/** Turns run outside the daemon, for example in the person's own window. */
export const EXTERNAL = 'external';
