import { describe, expect, test } from 'vitest';
import { bearer, keepKeys, type ModelAccess } from './model-access.ts';

const access: ModelAccess = {
  dialect: 'openai',
  variable: 'BASE_URL',
  url: 'https://models.example.com/v1',
  keys: { API_KEY: bearer, OTHER_KEY: (key) => ({ 'x-key': key }) },
};

function keep(extraEnv: Record<string, string>, confined = true, given = access) {
  return keepKeys({ command: 'x', args: [], env: {}, extraEnv, confined }, given);
}

describe('keepKeys()', () => {
  test('keeps the key and the address outside of a sandbox, and every other variable inside', () => {
    const { options, address, endpoints } = keep({ API_KEY: 'secret', BASE_URL: 'http://127.0.0.1:1', MODE: 'fast' });
    expect(options.extraEnv).toEqual({ MODE: 'fast', API_KEY: expect.not.stringContaining('secret') });
    expect(address).toBe('http://127.0.0.1:18731/0');
    const headers = { authorization: 'Bearer secret' };
    expect(endpoints).toEqual([{ variable: 'BASE_URL', url: 'http://127.0.0.1:1', headers, dialect: 'openai' }]);
  });

  test('drops keys that are not used', () => {
    const { options, endpoints } = keep({ API_KEY: 'one', OTHER_KEY: 'two' });
    expect(JSON.stringify(options.extraEnv)).not.toMatch(/one|two/);
    expect(endpoints).toMatchObject([{ headers: { authorization: 'Bearer one' } }]);
  });

  test('adds no header for a service without a key', () => {
    const { options, endpoints } = keep({ BASE_URL: 'http://127.0.0.1:11434/v1' });
    expect(endpoints).toMatchObject([{ url: 'http://127.0.0.1:11434/v1', headers: {} }]);
    // Programs refuse to start without one.
    expect(options.extraEnv.API_KEY).toMatch(/./);
  });

  test('changes nothing without a key and an address, and without a sandbox', () => {
    expect(keep({ MODE: 'fast' })).toMatchObject({ address: null, endpoints: [] });
    expect(keep({ API_KEY: 'k' }, true, { ...access, url: null })).toMatchObject({ address: null, endpoints: [] });
    const { options, address, endpoints } = keep({ API_KEY: 'k' }, false);
    expect([options.extraEnv, address, endpoints]).toEqual([{ API_KEY: 'k' }, access.url, []]);
  });
});
