/**
 * The part of the Claude Agent SDK that examples/agent-sdk.ts uses, so that `tsc` checks the documented example
 * without the dependency. Its results are MCP results, which accept further keys.
 */
declare module '@anthropic-ai/claude-agent-sdk' {
  interface TextContent {
    [key: string]: unknown;
    type: 'text';
    text: string;
    _meta?: { [key: string]: unknown } | undefined;
  }

  interface ImageContent {
    [key: string]: unknown;
    type: 'image';
    data: string;
    mimeType: string;
  }

  interface CallToolResult {
    [key: string]: unknown;
    content: (TextContent | ImageContent)[];
    structuredContent?: { [key: string]: unknown } | undefined;
    isError?: boolean | undefined;
  }

  interface SdkMcpToolDefinition<Schema> {
    name: string;
    description: string;
    inputSchema: Schema;
    // biome-ignore lint/suspicious/noExplicitAny: as the SDK has it.
    handler: (args: any, extra: unknown) => Promise<CallToolResult>;
  }

  interface McpSdkServerConfig {
    type: 'sdk';
    name: string;
    instance: object;
  }

  export function createSdkMcpServer(options: {
    name: string;
    version?: string;
    // biome-ignore lint/suspicious/noExplicitAny: as the SDK has it.
    tools?: SdkMcpToolDefinition<any>[];
  }): McpSdkServerConfig;

  export function query(params: {
    prompt: string;
    options?: { mcpServers?: Record<string, McpSdkServerConfig>; allowedTools?: string[] };
  }): AsyncGenerator<{ type: string }, void>;
}
