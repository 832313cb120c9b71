import DOMPurify, { type Config } from 'dompurify';
import { Marked, type Tokens } from 'marked';
import { nameCharacter, replaceHidden } from '../../../src/core/hidden.ts';
import { highlight } from './highlight.ts';

/** What a text may contain. No attribute that names, styles or hides; no picture, no form, nothing that loads. */
const ALLOWED: Config & { RETURN_DOM_FRAGMENT: true } = {
  ALLOWED_TAGS:
    'p br b strong em i del code pre blockquote ul ol li a hr table thead tbody tr th td h1 h2 h3 h4 h5 h6'.split(' '),
  ALLOWED_ATTR: ['href', 'start', 'class'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  RETURN_DOM_FRAGMENT: true,
};

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // Markup is shown, not obeyed.
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
    // A picture would be loaded from a host that the author chose.
    image: ({ href, text }: Tokens.Image) => `<a href="${escapeHtml(href)}">${escapeHtml(text || 'picture')}</a>`,
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
  },
});

// The only class that passes says which language a block of code is in.
DOMPurify.addHook('uponSanitizeAttribute', (_, data) => {
  if (data.attrName === 'class' && !/^language-[\w+#-]{1,20}$/.test(data.attrValue)) data.keepAttr = false;
});

/** Renders a text of anybody. `mention` says whether a handle exists, and whether it is the reader's own. */
export function renderMarkdown(text: string, mention: (handle: string) => 'me' | 'other' | null): DocumentFragment {
  const fragment = DOMPurify.sanitize(marked.parse(text, { async: false }), ALLOWED);
  for (const code of [...fragment.querySelectorAll('pre > code')]) frameCode(code);
  for (const link of [...fragment.querySelectorAll('a')]) showTarget(link);
  for (const heading of [...fragment.querySelectorAll('h1, h2, h3, h4, h5, h6')]) flatten(heading);
  for (const table of [...fragment.querySelectorAll('table')]) frameTable(table);
  for (const node of textNodes(fragment)) decorate(node, mention);
  return fragment;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function frameCode(code: Element): void {
  const language = /language-([\w+#-]+)/.exec(code.className)?.[1] ?? '';
  const text = code.textContent ?? '';
  const figure = make('figure', 'code');
  const caption = make('figcaption', '');
  const copy = make('button', 'btn quiet sm');
  copy.setAttribute('type', 'button');
  copy.dataset.copy = '';
  copy.textContent = 'Copy';
  caption.append(make('span', 'grow', language || 'text'), copy);
  const pre = make('pre', '');
  pre.tabIndex = 0;
  pre.setAttribute('aria-label', 'Code');
  const inner = make('code', '');
  inner.append(highlight(text.replace(/\n$/, ''), language));
  pre.append(inner);
  figure.append(caption, pre);
  code.parentElement?.replaceWith(figure);
}

/** A link says where it leads, whatever its text says. */
function showTarget(link: HTMLAnchorElement): void {
  const target = URL.parse(link.getAttribute('href') ?? '');
  if (!target) {
    link.replaceWith(...link.childNodes);
    return;
  }
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
  link.title = target.href;
  const where = target.host || target.pathname;
  if (!link.textContent?.includes(where)) link.after(make('span', 'host', ` (${where})`));
}

/** Headings of a message are not headings of the page. */
function flatten(heading: Element): void {
  const line = make('p', 'msg-heading');
  line.append(...heading.childNodes);
  heading.replaceWith(line);
}

function frameTable(table: Element): void {
  const frame = make('div', 'msg-table');
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', 'Table');
  table.replaceWith(frame);
  frame.append(table);
}

const MARKS = /(@[\p{L}\p{N}_][\p{L}\p{N}_.-]*)|(\uE000[0-9A-F]+\uE001)/gu;

/** Shows characters without a shape, and marks the handles of those who exist. */
function decorate(node: Text, mention: (handle: string) => 'me' | 'other' | null): void {
  const plain = node.data.replace(/[\uE000\uE001]/g, '\uFFFD');
  const marked = replaceHidden(plain, (c) =>
    /[\n\r\t]/.test(c) ? c : `\uE000${(c.codePointAt(0) ?? 0).toString(16).toUpperCase()}\uE001`,
  );
  const inCode = node.parentElement?.closest('code, a') !== null;
  const parts: (string | Node)[] = [];
  let from = 0;
  for (const { 0: found, 1: handle, 2: hidden, index } of marked.matchAll(MARKS)) {
    const shown = hidden !== undefined ? showHidden(hidden) : handle !== undefined && !inCode ? at(handle) : null;
    if (!shown) continue;
    parts.push(marked.slice(from, index), shown);
    from = index + found.length;
    const rest = (handle?.length ?? 0) - (shown.textContent?.length ?? 0);
    if (hidden === undefined && rest > 0) from -= rest;
  }
  if (parts.length > 0) node.replaceWith(...parts, marked.slice(from));

  function at(name: string): HTMLElement | null {
    // A full stop after a name ends the sentence.
    for (const handle of [name, name.replace(/[.-]+$/, '')]) {
      const who = mention(handle.slice(1));
      if (who) return make('span', who === 'me' ? 'at me' : 'at', handle);
    }
    return null;
  }
}

function showHidden(mark: string): HTMLElement {
  const code = mark.slice(1, -1);
  const shown = make('span', 'hidden-char', `U+${code.padStart(4, '0')}`);
  shown.title = nameCharacter(String.fromCodePoint(Number.parseInt(code, 16)));
  return shown;
}

function textNodes(root: Node): Text[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) if (node instanceof Text) found.push(node);
  return found;
}

function make<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, name: string, text = ''): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = text;
  return element;
}
