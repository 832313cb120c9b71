import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Language, Node, Parser } from '@vscode/tree-sitter-wasm';
import { type Definition, type Extracted, plain } from './extracted.ts';
import { decodeText } from './text.ts';

const DEFINES =
  /^(abstract_)?(function|method|class|struct|interface|enum|impl|trait|module|namespace|union|constructor|record|object|mod|macro|singleton_method|internal_module)(_(definition|declaration|item|specifier|alias|signature))*$|^(generator_function_declaration|type_spec|type_item|type_alias|type_alias_declaration|type_definition|rule_set|function_statement|class_statement)$/;
/** Nodes that may contain definitions. */
const AROUND = /body|list|export|decorat|block|template|program|statement_list|type_declaration|linkage/;
const MOST_LEVELS = 8;

const grammars = new Map<string, Language>();
let parser: Parser | null = null;

/** Source code with its definitions. */
export async function extractCode(bytes: Uint8Array, grammar: string): Promise<Extracted> {
  const body = decodeText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const tree = (await parserOf(grammar)).parse(body);
  if (!tree) return plain(body);
  try {
    return plain(body, { structure: { by: 'definitions', definitions: definitionsIn(tree.rootNode, 0) } });
  } finally {
    tree.delete();
  }
}

async function parserOf(grammar: string): Promise<Parser> {
  const require = createRequire(import.meta.url);
  const treeSitter = require('@vscode/tree-sitter-wasm') as typeof import('@vscode/tree-sitter-wasm');
  if (!parser) {
    await treeSitter.Parser.init();
    parser = new treeSitter.Parser();
  }
  let language = grammars.get(grammar);
  if (!language) {
    const place = dirname(require.resolve('@vscode/tree-sitter-wasm'));
    language = await treeSitter.Language.load(readFileSync(join(place, `tree-sitter-${grammar}.wasm`)));
    grammars.set(grammar, language);
  }
  return parser.setLanguage(language);
}

function definitionsIn(node: Node, level: number): Definition[] {
  if (level > MOST_LEVELS) return [];
  return node.namedChildren.flatMap((child): Definition[] => {
    if (!child) return [];
    const name = definedName(child);
    if (name === null) return AROUND.test(child.type) ? definitionsIn(child, level + 1) : [];
    const inside = definitionsIn(child, level + 1);
    return [{ name, from: child.startPosition.row + 1, to: child.endPosition.row + 1, inside }];
  });
}

/** Returns null for a node that does not define a name. */
function definedName(node: Node): string | null {
  if (/^(lexical|variable)_declaration$/.test(node.type)) return functionName(node);
  if (!DEFINES.test(node.type)) return null;
  const named =
    node.childForFieldName('name') ??
    node.childForFieldName('declarator') ??
    node.childForFieldName('type') ??
    node.namedChildren[0];
  const text =
    named?.text
      .split('\n')[0]
      ?.replace(/\s*\(.*$/, '')
      .trim() ?? '';
  return text === '' ? null : text.slice(0, 200);
}

/** The name in `const name = () => …`. */
function functionName(node: Node): string | null {
  const [declarator] = node.namedChildren;
  const value = declarator?.childForFieldName('value');
  return value && /function|class/.test(value.type) ? (declarator?.childForFieldName('name')?.text ?? null) : null;
}
