import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const LANGUAGES = { bash, css, diff, go, ini, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Builds elements from what the highlighter finds: no HTML is made or parsed. */
class FragmentEmitter {
  readonly fragment = document.createDocumentFragment();
  readonly #open: Node[] = [this.fragment];

  addText(text: string): void {
    this.#top.appendChild(document.createTextNode(text));
  }

  startScope(scope: string): void {
    const part = document.createElement('span');
    part.className = `hl-${scope.split('.')[0]}`;
    this.#top.appendChild(part);
    this.#open.push(part);
  }

  endScope(): void {
    if (this.#open.length > 1) this.#open.pop();
  }

  /** The names that the highlighter itself uses, beside those that it documents. */
  openNode(scope: string): void {
    this.startScope(scope);
  }

  closeNode(): void {
    this.endScope();
  }

  __addSublanguage(inner: unknown): void {
    if (inner instanceof FragmentEmitter) this.#top.appendChild(inner.fragment);
  }

  finalize(): void {
    this.#open.length = 1;
  }

  toHTML(): string {
    return '';
  }

  get #top(): Node {
    return this.#open.at(-1) ?? this.fragment;
  }
}
hljs.configure({ __emitter: FragmentEmitter });

/** Longer code is shown without colours: it would hold up the page. */
const MOST = 20_000;

export function highlight(code: string, language: string): DocumentFragment {
  if (code.length <= MOST && hljs.getLanguage(language)) {
    const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true });
    if (_emitter instanceof FragmentEmitter) return _emitter.fragment;
  }
  const plain = document.createDocumentFragment();
  plain.append(code);
  return plain;
}
