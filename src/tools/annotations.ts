/** What MCP clients show before a call, and how they decide whether to ask. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly openWorldHint: boolean;
}

export const READS: Annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };

/** Nothing is known about script tools, so they have none: clients assume the worst. */
export function annotationsOf(tool: {
  readonly effect?: boolean;
  readonly annotations?: Partial<Annotations>;
}): Annotations | undefined {
  if (tool.effect === undefined) return undefined;
  return { ...READS, readOnlyHint: !tool.effect, ...tool.annotations };
}
