'use strict';

// Names the source files in stack traces of bundled code. Node's own --enable-source-maps would read every map at the start.
const { readFileSync } = require('node:fs');
const { SourceMap } = require('node:module');
const { dirname, join, resolve } = require('node:path');

const BUNDLE = join(__dirname, '../bundle/');

/** @type {Map<string, InstanceType<typeof SourceMap>>} */
const maps = new Map();

Error.prepareStackTrace = (error, frames) =>
  [headOf(error), ...frames.map((frame) => `    at ${mapped(String(frame))}`)].join('\n');

/** `save (/p/bundle/a.js:1:2)` as `save (/p/src/store/runs.ts:3:4)`. @param {string} frame */
function mapped(frame) {
  const [place, file = '', line, column] = /(\/[^()]*\.js):(\d+):(\d+)/.exec(frame) ?? [];
  if (place === undefined || !file.startsWith(BUNDLE)) return frame;
  const entry = mapOf(file).findEntry(Number(line) - 1, Number(column) - 1);
  if (!('originalSource' in entry)) return frame;
  const { originalSource, originalLine, originalColumn } = entry;
  return frame.replace(place, `${resolve(dirname(file), originalSource)}:${originalLine + 1}:${originalColumn + 1}`);
}

/** @param {string} file */
function mapOf(file) {
  const map = maps.get(file) ?? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
  maps.set(file, map);
  return map;
}

/** Any value may have a stack, and its name and message may be anything. @param {unknown} error */
function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}
