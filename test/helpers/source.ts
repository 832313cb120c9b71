import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type Node, parseSync, Visitor } from 'oxc-parser';

/** A file of the repository; its path is relative to the root. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly path: string;
  readonly typeOnly: boolean;
}

export interface ParsedSource {
  /**
   * Files of the repository that are imported in any way: by type, re-export, dynamic import, the package's own name
   * or the URL of a worker.
   */
  readonly imports: readonly Import[];
  /** Expressions that may load a file that cannot be determined from the text. */
  readonly unclear: readonly string[];
  readonly exits: boolean;
}

const ROOT = join(import.meta.dirname, '../..');
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly exports: Readonly<Record<string, string>>;
};

export function readSources(...folders: readonly string[]): Source[] {
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx,js,mjs,cjs}`, { cwd: ROOT }))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

export function parseSource({ path, text }: Source): ParsedSource {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);

  const imports: Import[] = [];
  const unclear: string[] = [];
  let exits = false;
  /** Variables that hold the result of `createRequire`, and constants that are a `new URL`. */
  const requires = new Set(['require']);
  const urls = new Set<string>();
  /** Parts of an expression that was handled as a whole. */
  const understood = new Set<object>();

  const doubt = ({ start, end }: Node) => unclear.push(text.slice(start, end));
  const add = (specifier: string, typeOnly: boolean) => {
    const needed = fileOf(path, specifier);
    if (needed !== null) imports.push({ path: needed, typeOnly });
  };
  const addComputed = (whole: Node, specifier: Node | undefined) => {
    const literal = literalOf(specifier, understood);
    if (literal === null) doubt(whole);
    else add(literal, false);
  };
  const isCreateRequire = (node: Node) => node.type === 'CallExpression' && nameOf(node.callee) === 'createRequire';
  const isRequire = (node: Node): boolean =>
    requires.has(nameOf(node) ?? '') ||
    isCreateRequire(node) ||
    (node.type === 'MemberExpression' && nameOf(node.property) === 'resolve' && isRequire(node.object));

  new Visitor({
    ImportDeclaration: (node) => add(node.source.value, node.importKind === 'type'),
    ImportSpecifier: (node) => {
      if (nameOf(node.imported) !== 'createRequire') return;
      if (node.local.name !== 'createRequire') doubt(node);
      understood.add(node.imported).add(node.local);
    },
    ExportAllDeclaration: (node) => add(node.source.value, node.exportKind === 'type'),
    ExportNamedDeclaration: (node) => {
      if (node.source) add(node.source.value, node.exportKind === 'type');
    },
    TSImportType: (node) => add(node.source.value, true),
    ImportExpression: (node) => addComputed(node, node.source),
    VariableDeclarator: ({ id, init }) => {
      const name = nameOf(id);
      if (!name || !init) return;
      if (isCreateRequire(init)) requires.add(name);
      if (isUrl(init)) urls.add(name);
    },
    NewExpression: (node) => {
      const [first, second] = node.arguments;
      if (isUrl(node) && isMeta(second, 'url')) {
        understood.add(second);
        addComputed(node, first);
      }
      if (nameOf(node.callee) === 'Worker' && !(first && (isUrl(first) || urls.has(nameOf(first) ?? '')))) doubt(node);
    },
    CallExpression: (node) => {
      if (isCreateRequire(node)) for (const part of [node.callee, ...node.arguments]) understood.add(part);
      if (isRequire(node.callee)) addComputed(node, node.arguments[0]);
    },
    Identifier: (node) => {
      if (node.name === 'createRequire' && !understood.has(node)) doubt(node);
    },
    MemberExpression: (node) => {
      if (node.object.type === 'MetaProperty' && !understood.has(node)) doubt(node);
      if (nameOf(node.object) === 'process' && nameOf(node.property) === 'exit') exits = true;
    },
  }).visit(program);
  return { imports, unclear, exits };
}

/** Null for other packages and for Node's modules. */
function fileOf(from: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier);
  if (specifier !== PACKAGE.name && !specifier.startsWith(`${PACKAGE.name}/`)) {
    return /^(\/|#|file:)/.test(specifier) ? specifier : null;
  }
  return posix.normalize(PACKAGE.exports[`.${specifier.slice(PACKAGE.name.length)}`] ?? specifier);
}

/** A string, also with this file's own extension, which differs once it is built. Null if it is computed. */
function literalOf(node: Node | undefined, understood: Set<object>): string | null {
  if (node?.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node?.type !== 'TemplateLiteral') return null;
  const [first, last] = node.quasis.map(({ value }) => value.cooked ?? '');
  const [ending, ...more] = node.expressions;
  if (ending === undefined) return first ?? null;
  const isEnding =
    ending.type === 'CallExpression' &&
    ending.callee.type === 'MemberExpression' &&
    isMeta(ending.callee.object, 'filename') &&
    nameOf(ending.callee.property) === 'slice';
  if (!isEnding || more.length > 0 || last !== '') return null;
  understood.add((ending.callee as { object: object }).object);
  return `${first}.ts`;
}

function isUrl(node: Node): boolean {
  return node.type === 'NewExpression' && nameOf(node.callee) === 'URL';
}

function isMeta(node: Node | undefined, property: string): node is Node {
  return node?.type === 'MemberExpression' && node.object.type === 'MetaProperty' && nameOf(node.property) === property;
}

function nameOf(node: Node): string | undefined {
  return node.type === 'Identifier' ? node.name : undefined;
}
