import { describe, expect, test } from 'vitest';
import { createAllowList, normalName } from './hosts.ts';

describe('createAllowList()', () => {
  const list = createAllowList([
    'api.example.com',
    '*.example.org',
    'db.example.com:5432',
    '10.0.0.5:8080',
    '[::1]:80',
  ]);

  test('allows a name on the web ports, or on the listed port', () => {
    for (const port of [443, 80]) expect(list.allowsName('api.example.com', port)).toBe(true);
    expect(list.allowsName('API.example.com.', 443)).toBe(true);
    expect(list.allowsName('api.example.com', 22)).toBe(false);
    expect(list.allowsName('db.example.com', 5432)).toBe(true);
    expect(list.allowsName('db.example.com', 443)).toBe(false);
  });

  test('a star matches only names below a domain', () => {
    expect(list.allowsName('a.example.org', 443)).toBe(true);
    expect(list.allowsName('a.b.example.org', 443)).toBe(true);
    for (const host of ['example.org', 'badexample.org', 'example.org.evil.net', 'a.example.com', 'xapi.example.com']) {
      expect(list.allowsName(host, 443)).toBe(false);
    }
  });

  test('allows a private address only if it is listed itself', () => {
    expect(list.allowsAddress('10.0.0.5', 8080)).toBe(true);
    expect(list.allowsAddress('10.0.0.5', 443)).toBe(false);
    expect(list.allowsAddress('10.0.0.6', 8080)).toBe(false);
    expect(list.allowsAddress('0:0:0:0:0:0:0:1', 80)).toBe(true);
    const everything = createAllowList(['*']);
    expect(everything.allowsName('2130706433', 443)).toBe(true);
    expect(everything.allowsAddress('127.0.0.1', 443)).toBe(false);
    expect(createAllowList(['localhost:7331']).allowsAddress('127.0.0.1', 7331)).toBe(true);
    expect(createAllowList(['localhost:7331']).allowsAddress('127.0.0.1', 443)).toBe(false);
  });

  test('a star matches only names; an address needs its own entry or `*`', () => {
    const odd = createAllowList(['*.0.0.1', '*.0.5:8080', '*.1']);
    for (const address of ['127.0.0.1', '1.0.0.1', '10.0.0.1']) expect(odd.allowsName(address, 443)).toBe(false);
    expect(odd.allowsName('10.0.0.5', 8080)).toBe(false);
    expect(createAllowList(['*']).allowsName('1.0.0.1', 443)).toBe(true);
  });

  test('allows an address of this machine only if it is listed itself, checked at request time', () => {
    const own = ['8.8.4.4'];
    const rules = ['*', '*.example.org', 'me.example.com', '8.8.4.5:22', '2606:4700::1'];
    const { allowsAddress } = createAllowList(rules, () => own);
    expect(allowsAddress('8.8.4.4', 443)).toBe(false);
    expect(allowsAddress('8.8.4.5', 443)).toBe(true);
    own.push('8.8.4.5', '2606:4700:0:0::2', '2606:4700::1');
    expect(allowsAddress('8.8.4.5', 443)).toBe(false);
    expect(allowsAddress('8.8.4.5', 22)).toBe(true);
    expect(allowsAddress('2606:4700::2', 443)).toBe(false);
    expect(allowsAddress('2606:4700::1', 443)).toBe(true);
  });

  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2001:0:1::1',
    '2002:7f00:1::',
    'fd00::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    'no address',
  ])('%s is not a public address', (address) => {
    expect(createAllowList(['*']).allowsAddress(address, 443)).toBe(false);
  });

  test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])(
    '%s is a public address',
    (address) => {
      expect(list.allowsAddress(address, 443)).toBe(true);
    },
  );
});

test('normalName() recognizes an address in all its spellings', () => {
  expect(normalName('[2001:DB8:0::1]')).toBe('2001:db8::1');
  expect(normalName('Host.')).toBe('host');
});
