/**
 * The Lua code around a script. It captures the functions it needs before the script can replace them, and blocks
 * bytecode: `load` accepts text only. `host` returns (true, value) or (false, message) and never raises.
 */
export const prelude = `
local host = ...
local error, type, select, next, rawget, tostring, xpcall = error, type, select, next, rawget, tostring, xpcall
local load0, unpack, concat, globals = load, table.unpack, table.concat, _G
local getmetatable0, setmetatable0 = getmetatable, setmetatable

-- Whoever calls it does so in its last place, so that an error is said to be where the script called.
local function ask(operation, ...)
  local ok, value = host(operation, ...)
  if not ok then error(value, 2) end
  return value
end

local function bind(operation)
  return function(...) return ask(operation, ...) end
end

dofile, loadfile, string.dump = nil, nil, nil
function load(chunk, name, _, ...)
  if select('#', ...) > 0 then return load0(chunk, name, 't', (...)) end
  return load0(chunk, name, 't')
end

json = { parse = bind('json.parse'), encode = bind('json.encode') }
base64 = { encode = bind('base64.encode'), decode = bind('base64.decode') }
crypto = { sha256 = bind('crypto.sha256'), hmac_sha256 = bind('crypto.hmac_sha256') }
env = { get = bind('env.get') }
-- What fs.list gives can be used as the path that it is.
local listed = {
  __tostring = function(file) return file.path end,
  __concat = function(a, b) return tostring(a) .. tostring(b) end,
}
fs = {
  read = function(file) return ask('fs.read', getmetatable0(file) == listed and file.path or file) end,
  list = function(...)
    local ok, files = host('fs.list', ...)
    if not ok then error(files, 2) end
    for i = 1, #files do setmetatable0(files[i], listed) end
    return files
  end,
}
sleep = bind('sleep')
http = {
  get = function(url, options) return ask('http', 'GET', url, nil, options) end,
  post = function(url, body, options) return ask('http', 'POST', url, body, options) end,
  put = function(url, body, options) return ask('http', 'PUT', url, body, options) end,
}
log = {}
for _, level in ipairs({ 'debug', 'info', 'warn', 'error' }) do
  log[level] = function(message) return ask('log', level, tostring(message)) end
end
function print(...)
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = tostring((select(i, ...))) end
  return ask('log', 'info', concat(parts, '\\t'))
end

local job = ask('job')
local context = {
  search = bind('context.search'),
  get = bind('context.get'),
  sources = bind('context.sources'),
  config = job.config,
}

local function describe(err)
  if type(err) == 'string' then return err end
  if type(err) == 'table' and type(err.message) == 'string' then return err.message end
  return 'it raised a ' .. type(err) .. ' instead of a message'
end

local function work()
  local chunk, problem = load0(job.source, '@' .. job.name, 't')
  if not chunk then error(problem, 0) end
  local object = chunk()
  if type(object) ~= 'table' then object = rawget(globals, job.global) end
  if type(object) ~= 'table' then
    error(job.name .. ': the script must set or return a table "' .. job.global .. '"', 0)
  end
  if not job.method then
    local fields = {}
    for key, value in next, object do
      if type(value) ~= 'function' then fields[key] = value end
    end
    fields.functions = {}
    for key, value in next, object do
      if type(value) == 'function' then fields.functions[key] = true end
    end
    return host('result', fields)
  end
  local method = object[job.method]
  if type(method) ~= 'function' then
    error(job.name .. ': the script does not define the function ' .. job.global .. '.' .. job.method, 0)
  end
  local args = job.args
  if job.context then args[job.count + 1] = context end
  return host('result', method(unpack(args, 1, job.count + (job.context and 1 or 0))))
end

local ran, ok, problem = xpcall(work, describe)
if not ran then host('failed', ok) elseif not ok then host('failed', job.name .. ': its result ' .. problem) end
`;
