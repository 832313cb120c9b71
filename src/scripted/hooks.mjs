// @ts-check
// Loaded before a scripted agent's program, wherever that is: the library is found without being installed next to it,
// and a file with imports is a module whatever the package.json around it says. Plain JavaScript: every turn waits.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/** In a clone this file is among sources, in the package among what they were compiled to. */
const built = new URL('scripted.js', import.meta.url);
const library = (existsSync(built) ? built : new URL('scripted.ts', import.meta.url)).href;
const statement = /^(?:import\b(?!\s*\()|export\b|await\b)/m;
const asModule = new Map([
  ['commonjs', 'module'],
  ['commonjs-typescript', 'module-typescript'],
]);

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'substrat/scripted' ? { url: library, shortCircuit: true } : next(specifier, context),
  load(url, context, next) {
    const format = asModule.get(context.format ?? '');
    if (format === undefined || !url.startsWith('file:') || url.includes('/node_modules/')) return next(url, context);
    const isModule = statement.test(readFileSync(fileURLToPath(url), 'utf8'));
    return next(url, isModule ? { ...context, format } : context);
  },
});
