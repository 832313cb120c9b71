import type { Knowledge } from '../core/knowledge.ts';
import type { Extensions } from '../extensions/extensions.ts';
import type { Personas } from '../personas/personas.ts';
import type { CustomTool } from '../tools/custom.ts';
import type { Node } from './node.ts';

interface ExtensionParts extends Pick<Node, 'config' | 'home' | 'log'> {
  readonly knowledge: Knowledge;
}

/** The personas and tools of the configuration. They are opened when somebody first asks: a start does not wait for them. */
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

  /** Where the configuration has none, nobody waits for what follows its file. */
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
    // They came to be in the file between our start and now, and whoever asked before was told of none.
    if (this.#parts.config.tools.length === 0 && extensions.tools.list().length > 0) tell();
    return extensions;
  }
}
