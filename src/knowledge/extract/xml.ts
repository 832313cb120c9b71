import { Parser } from 'htmlparser2';

/** Streams through XML without building a tree. `open` and `close` get names without their prefix. */
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

function bare(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
