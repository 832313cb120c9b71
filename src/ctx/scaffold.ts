import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { checkName } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { withUserUmask } from '../core/umask.ts';

export interface Scaffold {
  /** Relative to the working directory. */
  readonly path: string;
  /** Lines to add to the configuration. */
  readonly config: readonly string[];
}

/** Writes a template script if the file does not exist. */
export function scaffold(kind: keyof typeof TEMPLATES, name: string): Scaffold {
  checkName(name);
  const { folder, section, template } = TEMPLATES[kind];
  const path = `${folder}/${name}.lua`;
  const file = resolve(path);
  if (existsSync(file)) throw new SubstratError('conflict', `${path} exists already. Nothing was changed.`);
  withUserUmask(() => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, template(name), { flag: 'wx' });
  });
  return { path, config: [`[${section}.script.${name}]`, `path = "${path}"`, 'timeout = 30'] };
}

/** As printed in the specification. */
export function describeScaffold({ path, config }: Scaffold): string[] {
  return [`Created: ${path}`, 'Add to config:', '', ...config.map((line) => `  ${line}`)];
}

const TEMPLATES = {
  agent: {
    folder: 'agents',
    section: 'agents',
    template: (name: string) => `-- A persona. Its prompt is resolved for every conversation.

agent = {}

agent.name = "${name}"
agent.description = "What ${name} helps with, in one line"
agent.tools = { "search", "get" }
agent.arguments = {
    { name = "topic", description = "What this is about", required = false },
}

-- args: the user's arguments; config: the free keys of [agents.script.${name}];
-- context: { search = fn, get = fn, sources = fn }
function agent.resolve(args, config, context)
    local topic = args.topic or "this project"
    local found = context.search({ query = topic, limit = config.search_limit or 3 })

    local notes = ""
    for _, result in ipairs(found) do
        notes = notes .. "\\n- " .. (result.title or "Untitled") .. ": " .. result.snippet
    end

    return {
        system = string.format("You help with %s.\\n\\nWhat is known:\\n%s", topic, notes),
        messages = {
            { role = "assistant", content = string.format("I have read %d documents. What do you need?", #found) },
        },
    }
end

return agent
`,
  },
  tool: {
    folder: 'tools',
    section: 'tools',
    template: (name: string) => `-- A tool. Agents and clients call it by name.

tool = {
    name = "${name}",
    description = "What ${name} does, in one line",
    parameters = {
        { name = "text", type = "string", required = true, description = "What to work on" },
    },
}

-- params: validated against the parameters; context: { search = fn, get = fn, sources = fn, config = {…} }
function tool.execute(params, context)
    local found = context.search(params.text, { limit = 3 })
    return { text = params.text, documents = #found }
end

return tool
`,
  },
  connector: {
    folder: 'connectors',
    section: 'connectors',
    template: (name: string) => `-- A connector. It returns documents for the knowledge base.

connector = { name = "${name}", version = "0.1.0", description = "Where its documents come from" }

-- config: the free keys of [connectors.script.${name}]
function connector.scan(config)
    local items = {}
    for _, file in ipairs(fs.list(".", "**/*.md")) do
        items[#items + 1] = {
            source_id = file.path,
            body = fs.read(file.path),
            updated_at = file.modified,
            content_type = "text/markdown",
        }
    end
    return items
end

return connector
`,
  },
} as const;
