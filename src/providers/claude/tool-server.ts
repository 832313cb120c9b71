import * as z from 'zod';
import { TOOLS_ADDRESS } from '../../core/endpoint-address.ts';
import { SERVER } from '../calls.ts';
import { readEvent } from '../lines.ts';

const BEGIN = 'substrat-tools';
const answer = z.object({
  type: z.literal('control_response'),
  response: z.looseObject({
    subtype: z.string(),
    request_id: z.literal(BEGIN),
    response: z.looseObject({ added: z.array(z.string()).catch([]) }).optional(),
  }),
});

/**
 * Names the server of our tools over HTTP. On the command line, the program would connect to it while it starts, when the
 * sandbox may not have opened its port yet.
 */
export function createToolServer(write: (line: object) => void) {
  return {
    failure: "It could not connect to Substrat's tools.",
    begin(): void {
      const servers = { [SERVER]: { type: 'http', url: TOOLS_ADDRESS } };
      write({ type: 'control_request', request_id: BEGIN, request: { subtype: 'mcp_set_servers', servers } });
    },
    /** `ready` once the program has connected; `unknown` for a line that is not about it. */
    heard(text: string): 'ready' | 'failed' | 'unknown' {
      const read = text.includes(BEGIN) ? readEvent(answer, text) : null;
      if (!read) return 'unknown';
      const { subtype, response } = read.response;
      return subtype === 'success' && response?.added.includes(SERVER) ? 'ready' : 'failed';
    },
  };
}
