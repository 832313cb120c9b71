'use strict';

// Loaded before the program, in syntax that any Node reads: on an older one the imports would crash without a word.
const [major = 0, minor = 0] = process.version.slice(1).split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `substrat needs Node 22.18 or newer; this is ${process.version} (${process.execPath}). Install a newer Node and put it first on the PATH.`,
  );
  process.exit(1);
}

const nodeModule = require('node:module');

// Called here and not set by NODE_COMPILE_CACHE, which every agent's own Node would inherit. Where it cannot be written there is no cache.
nodeModule.enableCompileCache(require('node:path').join(__dirname, '../node_modules/.cache/node'));

const own = require('node:url').pathToFileURL(require('node:path').join(__dirname, '../src/')).href;

// A relative import is its URL and nothing else. Node would look for links and packages on the way to each of some
// thousand files, which is a quarter of a start, and for the package.json that tells what a file is, which is a tenth.
nodeModule.registerHooks({
  resolve(specifier, context, next) {
    const { conditions, parentURL = '' } = context;
    const isRelative = specifier.startsWith('.') && conditions.includes('import') && parentURL.startsWith('file:');
    if (!isRelative) return next(specifier, context);
    const url = new URL(specifier, parentURL).href;
    return { url, format: formatOf(url), shortCircuit: true };
  },
});

/**
 * Of our own files and of the two packages with the most; Node finds out about others.
 * @param {string} url
 */
function formatOf(url) {
  const isOwn = url.startsWith(own);
  if (isOwn && url.endsWith('.ts')) return 'module-typescript';
  return url.endsWith('.js') && (isOwn || /\/node_modules\/(kysely|zod)\//.test(url)) ? 'module' : undefined;
}
