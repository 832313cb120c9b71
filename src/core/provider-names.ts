/** Run by somebody else, such as the person's own window. */
export const EXTERNAL = 'external';
