import type * as z from 'zod';

/** A tool bound to one agent: the caller is fixed at creation. Has the shape that MCP libraries expect of a tool. */
export interface BoundTool {
  readonly name: string;
  readonly description: string;
  /** The input fields as zod types. */
  readonly inputSchema: z.ZodRawShape;
  handler(args: unknown): Promise<ToolResult>;
  /**
   * The same, recorded with this id. For a caller that stores its calls and looks an interrupted one up by its id: a
   * call of a later attempt is then a new one, however similar.
   */
  callAs(callId: string, args: unknown): Promise<ToolResult>;
}

/** A type, not an interface: MCP libraries require an index signature, which only a type alias has implicitly. */
export type ToolResult = {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: boolean;
};
