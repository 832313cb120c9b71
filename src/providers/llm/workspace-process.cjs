// @ts-check
'use strict';

// Runs inside the sandbox of a turn, once per turn: reads calls from stdin and writes their answers to stdout, one JSON text per
// line. Whatever runs inside can kill or imitate it, so the daemon treats its answers as foreign input.
const { spawn } = require('node:child_process');
const {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} = require('node:fs');
const { dirname, extname, join } = require('node:path');
const { createInterface } = require('node:readline');

const MOST_TEXT = 50_000;
const MOST_FILE = 20 * 1024 * 1024;
const MOST_IMAGE = 4 * 1024 * 1024;
const MOST_NAMES = 1_000;
const SKIPPED = ['.git', 'node_modules'];
/** @type {Record<string, string>} */
const IMAGES = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

/** @typedef {{ text: string, isError?: boolean, images?: { mediaType: string, data: string }[] }} Answer */

/** Without waiting for a FIFO, and never a device. @param {string} path */
function read(path) {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new Error(`${path} is not a regular file.`);
    if (stat.size > MOST_FILE) throw new Error(`${path} has ${stat.size} bytes; at most ${MOST_FILE} can be read.`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The beginning and the end of a long text. @param {string} text */
function cut(text) {
  if (text.length <= MOST_TEXT) return text;
  const [head, tail] = [text.slice(0, MOST_TEXT / 4), text.slice(-(MOST_TEXT * 3) / 4)];
  return `${head}\n[${text.length - MOST_TEXT} characters left out]\n${tail}`;
}

/** @typedef {import('./workspace-tools.ts').WorkspaceArguments} Arguments */

/** @type {{ readonly [T in keyof Arguments]: (args: Arguments[T]) => Answer | Promise<Answer> }} */
const tools = {
  read_file({ path, offset, limit }) {
    const bytes = read(path);
    const mediaType = IMAGES[extname(path).toLowerCase()];
    if (mediaType) {
      if (bytes.length > MOST_IMAGE)
        return { text: `${path} is too large to be shown: ${bytes.length} bytes.`, isError: true };
      return {
        text: `${path}: ${mediaType}, ${bytes.length} bytes`,
        images: [{ mediaType, data: bytes.toString('base64') }],
      };
    }
    if (bytes.subarray(0, 8_000).includes(0)) return { text: `${path} is not a text file.`, isError: true };
    const lines = bytes.toString('utf8').split('\n');
    if (lines.at(-1) === '') lines.pop();
    const shown = lines.slice(offset - 1, offset - 1 + limit).map((line, i) => `${offset + i}\t${line}`);
    const left = lines.length - (offset - 1 + shown.length);
    return { text: cut(shown.join('\n')) + (left > 0 ? `\n[${left} more lines]` : '') || '(empty file)' };
  },

  write_file({ path, content }) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return { text: `Wrote ${path}: ${Buffer.byteLength(content)} bytes.` };
  },

  edit_file({ path, old_text, new_text, replace_all }) {
    const parts = read(path).toString('utf8').split(old_text);
    const found = parts.length - 1;
    if (found === 0) return { text: `${path} does not contain old_text.`, isError: true };
    if (found > 1 && !replace_all)
      return {
        text: `${path} contains old_text ${found} times. Add lines around it, or set replace_all.`,
        isError: true,
      };
    writeFileSync(path, parts.join(new_text));
    return { text: `Replaced ${found} in ${path}.` };
  },

  list_files({ path, depth }) {
    /** @type {string[]} */
    const names = [];
    /** @param {string} directory @param {number} level @param {string} prefix */
    const walk = (directory, level, prefix) => {
      const entries = readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
      for (const entry of entries) {
        if (names.length >= MOST_NAMES) return;
        names.push(`${prefix}${entry.name}${entry.isDirectory() ? '/' : ''}`);
        if (!entry.isDirectory() || level >= depth || SKIPPED.includes(entry.name)) continue;
        try {
          walk(join(directory, entry.name), level + 1, `${prefix}${entry.name}/`);
        } catch {
          // Not readable: its name is listed.
        }
      }
    };
    walk(path, 1, '');
    const more = names.length >= MOST_NAMES ? `\n[only the first ${MOST_NAMES} are listed]` : '';
    return { text: names.length === 0 ? '(empty directory)' : cut(names.join('\n')) + more };
  },

  async search_files({ pattern, path, include }) {
    const skipped = SKIPPED.map((name) => `--exclude-dir=${name}`);
    const args = ['-rnIE', ...skipped, ...(include ? [`--include=${include}`] : []), '-e', pattern, '--', path];
    const { output, code } = await run('grep', args, 60);
    if (code === 1) return { text: 'Nothing matches.' };
    return { text: cut(output) || `grep exited with code ${code}.`, isError: code !== 0 };
  },

  async run_command({ command, timeout_seconds }) {
    const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
    const { output, code, timedOut } = await run(shell, ['-c', command], timeout_seconds);
    const end = timedOut ? `[ended after ${timeout_seconds} seconds]` : `[exit code ${code}]`;
    return {
      text: `${cut(output)}${output === '' || output.endsWith('\n') ? '' : '\n'}${end}`,
      isError: timedOut || code !== 0,
    };
  },
};

/**
 * @param {string} file @param {readonly string[]} args @param {number} seconds
 * @returns {Promise<{ output: string, code: number | string, timedOut: boolean }>}
 */
function run(file, args, seconds) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    /** @type {Buffer[]} */
    let head = [];
    let bytes = 0;
    let timedOut = false;
    const take = (/** @type {Buffer} */ chunk) => {
      head.push(chunk);
      bytes += chunk.length;
      // Enough for the beginning and the end of a long output.
      if (bytes > 8 * MOST_TEXT) {
        const all = Buffer.concat(head);
        head = [all.subarray(0, MOST_TEXT), Buffer.from('\n[…]\n'), all.subarray(-4 * MOST_TEXT)];
        bytes = head.reduce((sum, part) => sum + part.length, 0);
      }
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const end = () => {
      try {
        if (child.pid) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, seconds * 1_000);
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      // What it left in the background may hold the pipes: it ends with the command.
      setImmediate(end);
      const finish = () =>
        resolve({ output: Buffer.concat(head).toString('utf8'), code: code ?? signal ?? 'unknown', timedOut });
      child.once('close', finish);
      setTimeout(finish, 1_000).unref();
    });
  });
}

/** @param {string} line */
async function answer(line) {
  const { id, tool, args } = /** @type {{ id: number, tool: keyof Arguments, args: never }} */ (JSON.parse(line));
  /** @type {Answer} */
  let said;
  try {
    const known = Object.hasOwn(tools, tool);
    said = known ? await tools[tool](args) : { text: `There is no tool ${tool}.`, isError: true };
  } catch (error) {
    said = { text: error instanceof Error ? error.message : String(error), isError: true };
  }
  process.stdout.write(`${JSON.stringify({ id, ...said })}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => void answer(line));
