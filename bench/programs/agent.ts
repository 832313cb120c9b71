// Asker and answerer of `ask-and-answer`: one MCP call in each turn, so that each starts its bridge.
import { runAgent } from '../../src/scripted/scripted.ts';

await runAgent(async ({ name, messages, call }) => {
  const [message] = messages;
  if (name !== 'answerer' && message?.kind === 'request') {
    await call('send_message', { recipient: 'answerer', text: message.text });
    return 'I have asked.';
  }
  await call('list_agents');
  return `It is ${message?.text.length}.`;
});
