/** The text and metadata of a document of any format. */
export interface Extracted {
  readonly body: string;
  readonly title: string | null;
  readonly author: string | null;
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  /** How the body is cut: by headings, by definitions, by known parts, or by paragraphs. */
  readonly structure:
    | { readonly by: 'headings' }
    | { readonly by: 'definitions'; readonly definitions: readonly Definition[] }
    | { readonly by: 'parts'; readonly parts: readonly Part[] }
    | { readonly by: 'paragraphs' };
}

/** A function, a class and so on, with nested definitions. Lines count from 1, both ends included. */
export interface Definition {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly inside: readonly Definition[];
}

/** A page, a slide, a sheet. */
export interface Part {
  readonly headings: readonly string[];
  readonly from: number;
  readonly to: number;
}

export function plain(body: string, rest: Partial<Extracted> = {}): Extracted {
  const unknown = { title: null, author: null, createdAt: null, updatedAt: null, tags: [], metadata: {} };
  return { body, ...unknown, structure: { by: 'paragraphs' }, ...rest };
}

/** Joins parts with an empty line between them. */
export function fromParts(
  parts: readonly { readonly heading: string; readonly text: string }[],
  rest: Partial<Extracted> = {},
): Extracted {
  const placed: Part[] = [];
  let line = 1;
  for (const { heading, text } of parts) {
    const length = text.split('\n').length;
    placed.push({ headings: [heading], from: line, to: line + length - 1 });
    line += length + 1;
  }
  const body = parts.map(({ text }) => text).join('\n\n');
  return plain(body, { structure: { by: 'parts', parts: placed }, ...rest });
}
