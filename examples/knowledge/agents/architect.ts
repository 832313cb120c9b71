import { definePersona } from 'substrat';

export default definePersona({
  name: 'architect',
  description: 'Answers architecture questions',
  tools: ['search', 'get', 'sources'],
  arguments: [{ name: 'topic', description: 'What is to be decided' }],
  async resolve({ topic = 'architecture' }, context) {
    const found = await context.search(`${topic} decision`, { mode: 'keyword', limit: 5, source: 'decisions' });
    const decisions = await Promise.all(found.map(({ id }) => context.get(id)));
    const texts = decisions.map(({ title, body }) => `## ${title ?? 'Untitled'}\n${body}`);
    return {
      system: [
        `You are the architect of this system. The question is about: ${topic}.`,
        'Decisions that have been taken; a new one must say which of them it changes:',
        ...texts,
      ].join('\n\n'),
    };
  },
});
