import type { Knowledge } from '../core/knowledge.ts';
import type { Extensions } from '../extensions/extensions.ts';
import type { Personas } from '../personas/personas.ts';
import type { CustomTool } from '../tools/custom.ts';
import type { Node } from './node.ts';

interface ExtensionParts extends Pick<Node, 'config' | 'home' | 'log'> {
  readonly knowledge: Knowledge;
}

/** The configured personas and tools. They are opened on first use, so that they do not delay the start. */
export class LazyExtensions {
  readonly #parts: ExtensionParts;
  readonly #toolListeners = new Set<() => void>();
  #opened: Promise<Extensions> | null = null;

  constructor(parts: ExtensionParts) {
    this.#parts = parts;
  }

  readonly open = (): Promise<Extensions> => {
    this.#opened ??= this.#open();
    return this.#opened;
  };

  readonly personas = async (): Promise<Personas> => (await this.open()).personas;

  /** Does not open the extensions if the configuration has no tools. */
  async customTools(): Promise<readonly CustomTool[]> {
    if (this.#opened === null && this.#parts.config.tools.length === 0) return [];
    return (await this.open()).tools.list();
  }

  onCustomToolsChange(listener: () => void): () => void {
    this.#toolListeners.add(listener);
    return () => this.#toolListeners.delete(listener);
  }

  async close(): Promise<void> {
    await (await this.#opened?.catch(() => null))?.close();
  }

  async #open(): Promise<Extensions> {
    const { openDaemonExtensions } = await import('./extensions.ts');
    const extensions = await openDaemonExtensions(this.#parts);
    const tell = () => {
      for (const listener of this.#toolListeners) listener();
    };
    extensions.tools.onChange(tell);
    // The file got its first tools after the start; earlier callers got an empty list.
    if (this.#parts.config.tools.length === 0 && extensions.tools.list().length > 0) tell();
    return extensions;
  }
}
