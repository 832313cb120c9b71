// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a configuration look like this
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureText, load } from '../config.testkit.ts';

test('the complete example of the specification loads unchanged', () => {
  const example = readFileSync(join(import.meta.dirname, '../../../test/fixtures/config/complete.toml'), 'utf8');
  const config = load(example, { JIRA_API_TOKEN: 'secret' });
  expect(config).toMatchObject({
    db: { path: join(config.cwd, 'data/ctx.sqlite') },
    chunking: { maxTokens: 700 },
    retrieval: { finalLimit: 12 },
    connectors: {
      git: {
        platform: { url: 'https://github.com/acme/platform.git', branch: 'main', root: 'docs/' },
        runbooks: { url: 'https://github.com/acme/runbooks.git', branch: 'main', root: '' },
      },
    },
  });
});

describe('[connectors]', () => {
  test('resolve paths relative to the file and leave URLs unchanged', () => {
    const { connectors, cwd } = load(
      '[connectors]\nfilesystem.a.root = "docs"\ngit.b.url = "../repo"\ngit.c.url = "git@host:o/r.git"\ngit.d.url = "file:///r"',
    );
    expect(connectors.filesystem.a?.root).toBe(join(cwd, 'docs'));
    expect(connectors.git.b?.url).toBe(join(cwd, '../repo'));
    expect(connectors.git.c?.url).toBe('git@host:o/r.git');
    expect(connectors.git.d?.url).toBe('file:///r');
  });

  test('pass every key of a script unchanged', () => {
    const { connectors, cwd } = load(
      '[connectors.script.jira]\npath = "jira.lua"\napi_token = "${T}"\nnested_table = { max_items = 3 }',
      { T: 'x' },
    );
    expect(connectors.script.jira).toEqual({
      path: join(cwd, 'jira.lua'),
      timeout: 30,
      api_token: 'x',
      nested_table: { max_items: 3 },
    });
  });

  test.each([
    ['[connectors.filesystem.a]', '1: [connectors.filesystem.a] root is missing'],
    ['[connectors.filesystem.a]\nroot = "x"\nincluded = []', '3: unknown key "included"'],
    ['[connectors.ftp.a]', '1: unknown key "ftp" in [connectors]'],
    ['[connectors.git."a b"]\nurl = "x"', '1: [connectors.git."a b"]: a name has'],
    ['[connectors.git.a]\nurl = "--upload-pack=x"', '2: [connectors.git.a] url must be the URL or the path'],
    ['[connectors.git.a]\nurl = "x"\nbranch = "-x"', '3: [connectors.git.a] branch must be the name of a branch'],
    ['[connectors.s3.a]\nbucket = "a/b"', '2: [connectors.s3.a] bucket must be the name of a bucket'],
    ['[connectors.s3.a]\nbucket = "b"\nendpoint_url = "localhost"', '3: [connectors.s3.a] endpoint_url must be a URL'],
    ['[connectors.filesystem.a]\nroot = "x"\ntags = ["a b"]', '3: [connectors.filesystem.a] tags[0] must have'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(`substrat.toml:${message}`);
  });

  test('never show a secret, not even an invalid one', () => {
    const wrong = failureText('[connectors.s3.a]\nbucket = "b"\nsecret_access_key = 12345\n');
    expect(wrong).toContain('secret_access_key must be a string');
    expect(wrong).not.toContain('12345');
    expect(failureText('[embedding]\napi_key = 12345')).not.toContain('12345');
  });
});

describe('[chunking], [retrieval] and [embedding]', () => {
  test.each([
    ['chunking = { max_tokens = 100, overlap_tokens = 51 }', 'overlap_tokens must be at most half of "max_tokens"'],
    ['retrieval.hybrid_alpha = 1.5', '[retrieval] hybrid_alpha must be a number from 0 to 1; got 1.5'],
    ['retrieval.mode = "magic"', '[retrieval] mode must be "keyword", "semantic" or "hybrid"; got "magic"'],
    ['embedding.provider = "x"', '[embedding] provider must be "disabled", "local", "ollama" or "openai"; got "x"'],
    ['embedding.url = "x"', '[embedding] url must be a URL'],
  ])('refuse %j', (source, message) => {
    expect(failureText(source)).toContain(message);
  });
});
