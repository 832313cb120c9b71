import { hash } from 'node:crypto';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

/**
 * Imports a module from text: executes the text that was checked, even if the file has changed since. Node reads the
 * module's own imports. Node caches modules by URL, so another text gets another URL.
 */
export async function importText(path: string, text: string): Promise<Readonly<Record<string, unknown>>> {
  const address = pathToFileURL(path);
  address.hash = hash('sha256', text);
  const hooks = registerHooks({
    load(url, context, next) {
      const format = url === address.href ? formatOf(path, text, context.format) : null;
      return format === null ? next(url, context) : { format, source: text, shortCircuit: true };
    },
  });
  try {
    return (await import(address.href)) as Record<string, unknown>;
  } finally {
    hooks.deregister();
  }
}

/** Returns null for CommonJS, which Node loads itself. Without a package.json `type`, the text decides. */
function formatOf(path: string, text: string, known: string | null | undefined): string | null {
  if (known?.startsWith('module')) return known;
  const isCommon = known !== undefined && known !== null;
  if (isCommon || !/^\s*export\b/m.test(text)) return null;
  return path.endsWith('ts') ? 'module-typescript' : 'module';
}
