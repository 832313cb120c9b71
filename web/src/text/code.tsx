import { useLayoutEffect, useRef } from 'preact/hooks';
import { nameCharacter, replaceHidden } from '../../../src/core/hidden.ts';
import { highlight } from './highlight.ts';

const LANGUAGES: Readonly<Record<string, string>> = {
  cjs: 'javascript',
  css: 'css',
  go: 'go',
  html: 'xml',
  js: 'javascript',
  json: 'json',
  jsx: 'javascript',
  mjs: 'javascript',
  py: 'python',
  rs: 'rust',
  sh: 'bash',
  sql: 'sql',
  svg: 'xml',
  toml: 'ini',
  ts: 'typescript',
  tsx: 'typescript',
  xml: 'xml',
  yaml: 'yaml',
  yml: 'yaml',
};

export function languageOf(path: string): string {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(LANGUAGES, ending) ? (LANGUAGES[ending] ?? '') : '';
}

/** A line or a file of code, highlighted. Characters without a shape are named, so that code reads as it runs. */
export function Code({ text, language }: { readonly text: string; readonly language: string }) {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    ref.current?.replaceChildren(highlight(showHidden(text), language));
  }, [text, language]);
  return <code ref={ref} />;
}

function showHidden(text: string): string {
  return replaceHidden(text, (c) => (/[\n\t]/.test(c) ? c : c === '\r' ? '' : `⟨${nameCharacter(c).split(' ')[0]}⟩`));
}
