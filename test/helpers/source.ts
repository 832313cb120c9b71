import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/** A file of the repository; its path is relative to the root. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly path: string;
  readonly typeOnly: boolean;
}

export function readSources(...folders: readonly string[]): Source[] {
  const root = join(import.meta.dirname, '../..');
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx,js,mjs,cjs}`, { cwd: root }))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Which of the repository's files a source needs, be it by a type, a re-export, a dynamic import or the URL of a worker, and whether it exits. */
export function parseSource({ path, text }: Source): { readonly imports: readonly Import[]; readonly exits: boolean } {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);

  const imports: Import[] = [];
  let exits = false;
  const add = (specifier: unknown, typeOnly: boolean) => {
    if (typeof specifier !== 'string' || !specifier.startsWith('.')) return;
    imports.push({ path: posix.join(posix.dirname(path), specifier), typeOnly });
  };
  const literalOf = (node: object | undefined) => (node && 'value' in node ? node.value : undefined);
  const nameOf = (node: object) => ('name' in node ? node.name : undefined);

  new Visitor({
    ImportDeclaration: (node) => add(node.source.value, node.importKind === 'type'),
    ExportAllDeclaration: (node) => add(node.source.value, node.exportKind === 'type'),
    ExportNamedDeclaration: (node) => add(node.source?.value, node.exportKind === 'type'),
    TSImportType: (node) => add(node.source.value, true),
    ImportExpression: (node) => add(literalOf(node.source), false),
    NewExpression: (node) => {
      if (nameOf(node.callee) === 'URL') add(literalOf(node.arguments[0]), false);
    },
    CallExpression: (node) => {
      if (nameOf(node.callee) === 'require') add(literalOf(node.arguments[0]), false);
    },
    MemberExpression: (node) => {
      if (nameOf(node.object) === 'process' && nameOf(node.property) === 'exit') exits = true;
    },
  }).visit(program);
  return { imports, exits };
}
