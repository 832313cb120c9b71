import type * as z from 'zod';

/** A tool bound to one agent: the caller is fixed at creation. Has the shape that MCP libraries expect of a tool. */
export interface BoundTool {
  readonly name: string;
  readonly description: string;
  /** The input fields as zod types. */
  readonly inputSchema: z.ZodRawShape;
  handler(args: unknown): Promise<ToolResult>;
}

/** A type, not an interface: MCP libraries require an index signature, which only a type alias has implicitly. */
export type ToolResult = {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: boolean;
};
