import { type Node, parseSync, Visitor } from 'oxc-parser';

/** One small change of a source that a test should detect. */
export interface Mutation {
  readonly path: string;
  readonly line: number;
  /** The innermost named function around it; empty at the top level. */
  readonly within: string;
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
}

export const KINDS = [
  'negated condition',
  'flipped comparison',
  'number off by one',
  'dropped statement',
  'dropped where',
  'dropped write',
] as const;
export type Kind = (typeof KINDS)[number];

const FLIPPED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
};

/** All mutations of a source, in text order. Types and object keys are not mutated. */
export function mutationsOf(path: string, text: string): Mutation[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  const found: Mutation[] = [];
  const functions: Named[] = [];
  /** Types and object keys. */
  const fixed: Node[] = [];

  const add = (kind: Kind, { start, end }: Pick<Node, 'start' | 'end'>, after: string) =>
    found.push({
      path,
      line: lineOf(text, start),
      within: '',
      kind,
      start,
      end,
      before: text.slice(start, end),
      after,
    });
  const negate = (test: Node) => add('negated condition', test, `!(${text.slice(test.start, test.end)})`);
  const named = (node: Node | null | undefined, key: Node) => {
    const isFunction = node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
    if (isFunction) functions.push({ name: text.slice(key.start, key.end), start: node.start, end: node.end });
  };

  new Visitor({
    IfStatement: ({ test }) => negate(test),
    ConditionalExpression: ({ test }) => negate(test),
    WhileStatement: ({ test }) => negate(test),
    BinaryExpression: ({ operator, left, right }) => {
      const flipped = FLIPPED[operator];
      if (flipped === undefined) return;
      const start = text.indexOf(operator, left.end);
      if (start < right.start) add('flipped comparison', { start, end: start + operator.length }, flipped);
    },
    Literal: (node) => {
      if (typeof node.value !== 'number') return;
      for (const after of [node.value + 1, node.value - 1]) add('number off by one', node, `(${after})`);
    },
    ExpressionStatement: (node) => {
      if (!('directive' in node && node.directive))
        add(isWrite(node.expression) ? 'dropped write' : 'dropped statement', node, '{}');
    },
    ThrowStatement: (node) => add('dropped statement', node, '{}'),
    CallExpression: (node) => {
      const { callee } = node;
      if (callee.type !== 'MemberExpression' || callee.computed || nameOf(callee.property) !== 'where') return;
      add('dropped where', { start: callee.object.end, end: node.end }, '');
    },
    FunctionDeclaration: ({ id, start, end }) => functions.push({ name: id?.name ?? '', start, end }),
    VariableDeclarator: ({ id, init }) => named(init, id),
    MethodDefinition: ({ key, value }) => named(value, key),
    Property: ({ key, value, computed }) => {
      named(value, key);
      if (!computed) fixed.push(key);
    },
    TSLiteralType: (node) => fixed.push(node),
  }).visit(program);

  return found
    .filter((one) => !fixed.some(({ start, end }) => start <= one.start && one.end <= end))
    .map((one) => ({ ...one, within: functionAround(functions, one) }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
}

export function apply(text: string, { start, end, after }: Mutation): string {
  return text.slice(0, start) + after + text.slice(end);
}

interface Named {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

function functionAround(functions: readonly Named[], { start, end }: Mutation): string {
  const around = functions.filter((one) => one.start <= start && end <= one.end);
  return (
    around.reduce<Named | null>((inner, one) => (inner && inner.start > one.start ? inner : one), null)?.name ?? ''
  );
}

/** `await tx.…` as a statement whose result is not used. */
function isWrite(node: Node): boolean {
  if (node.type !== 'AwaitExpression') return false;
  let root: Node = node.argument;
  while (root.type === 'CallExpression' || root.type === 'MemberExpression')
    root = root.type === 'CallExpression' ? root.callee : root.object;
  return nameOf(root) === 'tx';
}

function nameOf(node: Node): string | undefined {
  return node.type === 'Identifier' ? node.name : undefined;
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
