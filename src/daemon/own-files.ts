import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The real path: the sandbox does not follow symlinks. */
const ours = (url: URL) => realpathSync(fileURLToPath(url));

/** Files of ours that agents get to see. */
export const BRIDGE = ours(new URL('../mcp/bridge.cjs', import.meta.url));
/** The library that scripted agents import, and the package.json that tells Node its module type. */
export const LIBRARY = ours(new URL('../scripted', import.meta.url));
export const PACKAGE = ours(new URL('../../package.json', import.meta.url));
