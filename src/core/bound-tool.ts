import type * as z from 'zod';

/** A tool of one agent: who calls is fixed when it is made. Its form is what MCP's libraries take for a tool. */
export interface BoundTool {
  readonly name: string;
  readonly description: string;
  /** The fields of its input, in zod. */
  readonly inputSchema: z.ZodRawShape;
  handler(args: unknown): Promise<ToolResult>;
}

/** A type and not an interface: MCP's libraries want an index signature, which only a type has by itself. */
export type ToolResult = {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: boolean;
};
