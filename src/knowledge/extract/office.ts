import { Parser } from 'htmlparser2';

/** Goes through XML without making a tree of it: `open` and `close` get names without their prefix. */
export function readXml(
  xml: string,
  on: {
    open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
    text?: (text: string) => void;
    close?: (name: string) => void;
  },
): void {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => on.open?.(bare(name), attributes),
      ontext: (text) => on.text?.(text),
      onclosetag: (name) => on.close?.(bare(name)),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.write(xml);
  parser.end();
}

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

/** Of `ppt/slides/slide12.xml`, 12. */
export function numberOf(name: string): number {
  return Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0);
}

function bare(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
