import { readXml } from './xml.ts';

/** Title, author and times, as every office format has them. */
export function officeProperties(files: ReadonlyMap<string, string>) {
  const found: Record<string, string> = {};
  let within = '';
  readXml(files.get('docProps/core.xml') ?? '', {
    open: (name) => {
      within = name;
    },
    text: (text) => {
      found[within] = (found[within] ?? '') + text;
    },
    close: () => {
      within = '';
    },
  });
  const text = (name: string) => found[name]?.trim().slice(0, 500) || null;
  const time = (name: string) => {
    const at = Date.parse(found[name] ?? '');
    return Number.isNaN(at) ? null : at;
  };
  return { title: text('title'), author: text('creator'), createdAt: time('created'), updatedAt: time('modified') };
}

/** 12 for `ppt/slides/slide12.xml`. */
export function numberOf(name: string): number {
  return Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0);
}
