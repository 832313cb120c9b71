import { describe, expect, test } from 'vitest';
import { limited, worstCase } from './worst-case.ts';

const bytesOf = (fields: object) => Buffer.byteLength(JSON.stringify(fields));

describe('worstCase()', () => {
  test.each([
    ['anthropic', { max_tokens: 4_000 }, { outputTokens: 4_000, leastOutput: 1_000 }],
    ['anthropic', { max_tokens: 64 }, { outputTokens: 64, leastOutput: 64 }],
    [
      'anthropic',
      { max_tokens: 20_000, thinking: { type: 'enabled', budget_tokens: 10_000 } },
      { outputTokens: 20_000, leastOutput: 11_000 },
    ],
    ['openai', {}, { outputTokens: 32_000, leastOutput: 1_000 }],
    ['openai', { max_output_tokens: 500 }, { outputTokens: 500, leastOutput: 500 }],
    ['openai', { max_tokens: 10, max_completion_tokens: 2_000, n: 5 }, { outputTokens: 10_000, leastOutput: 5_000 }],
    ['openai', { max_tokens: -5, n: -1 }, { outputTokens: 32_000, leastOutput: 1_000 }],
    ['openai', { max_tokens: '9', n: '9' }, { outputTokens: 32_000, leastOutput: 1_000 }],
    [
      'gemini',
      { generationConfig: { maxOutputTokens: 3_000, candidateCount: 2 } },
      { outputTokens: 6_000, leastOutput: 2_000 },
    ],
    ['gemini', { generation_config: { max_output_tokens: 700 } }, { outputTokens: 700, leastOutput: 700 }],
  ] as const)('of %s %o', (dialect, fields, expected) => {
    expect(worstCase(dialect, fields, 400)).toEqual({ inputTokens: 100, ...expected });
  });

  test.each([
    ['anthropic', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(400_000) } }],
    ['openai', { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400_000)}` } }],
    ['openai', { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(400_000)}` }],
    ['gemini', { inlineData: { mimeType: 'image/png', data: 'A'.repeat(400_000) } }],
  ] as const)('counts an image of %s as one, whatever its file has', (dialect, part) => {
    const fields = { messages: [{ content: [part, part] }] };
    const { inputTokens } = worstCase(dialect, fields, bytesOf(fields));
    expect(inputTokens).toBeGreaterThan(4_000);
    expect(inputTokens).toBeLessThan(4_200);
  });

  test('counts a text that only looks like an image', () => {
    const fields = {
      messages: [{ content: [{ type: 'text', text: `data:image/png;base64,${'A'.repeat(400_000)}` }] }],
    };
    expect(worstCase('openai', fields, bytesOf(fields)).inputTokens).toBeGreaterThan(100_000);
  });
});

describe('limited()', () => {
  test.each([
    ['anthropic', '/v1/messages', { max_tokens: 9_000 }, { max_tokens: 2_000 }],
    ['anthropic', '/v1/messages', { max_tokens: 1_000 }, { max_tokens: 1_000 }],
    ['openai', '/v1/responses', {}, { max_output_tokens: 2_000 }],
    ['openai', '/v1/responses/compact', {}, {}],
    ['openai', '/v1/chat/completions', { max_tokens: 9_000 }, { max_tokens: 2_000 }],
    [
      'openai',
      '/v1/chat/completions',
      { max_tokens: 9_000, max_completion_tokens: 8_000 },
      { max_completion_tokens: 2_000 },
    ],
    ['openai', '/v1/chat/completions', { n: 2 }, { n: 2, max_completion_tokens: 1_000 }],
    [
      'gemini',
      '/v1beta/models/m:generateContent',
      { generation_config: { max_output_tokens: 9_000, temperature: 1 } },
      { generationConfig: { maxOutputTokens: 2_000, temperature: 1 } },
    ],
  ] as const)('%s %s %o becomes %o', (dialect, path, fields, expected) => {
    expect(limited(dialect, path, fields, 2_000)).toEqual(expected);
  });

  test('leaves a request alone that may write enough', () => {
    const fields = { model: 'm' };
    expect(limited('openai', '/v1/responses', fields, 32_000)).toBe(fields);
  });
});
