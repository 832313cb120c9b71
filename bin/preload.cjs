'use strict';

// Loaded before the program, in syntax that any Node reads: on an older one the imports would crash without a word.
const [major = 0, minor = 0] = process.version.slice(1).split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `substrat needs Node 22.18 or newer; this is ${process.version} (${process.execPath}). Install a newer Node and put it first on the PATH.`,
  );
  process.exit(1);
}

// Called here and not set by NODE_COMPILE_CACHE, which every agent's own Node would inherit. Where it cannot be written there is no cache.
require('node:module').enableCompileCache(require('node:path').join(__dirname, '../node_modules/.cache/node'));

const bundled = require('node:path').join(__dirname, '../bundle');
if (require('node:fs').existsSync(bundled)) require('./traces.cjs');
