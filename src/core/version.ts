import { readFileSync } from 'node:fs';

const about = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };

/** The version of Substrat, which package.json states. */
export const VERSION: string = about.version;
