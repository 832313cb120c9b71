-- agents/incident-responder.lua

agent = {}

-- Required: metadata for discovery
agent.name = "incident-responder"
agent.description = "Helps triage production incidents with relevant runbooks"

-- Required: list of tools this agent should expose
agent.tools = { "search", "get", "create_jira_ticket" }

-- Optional: arguments the user can provide when selecting the agent
agent.arguments = {
    {
        name = "service",
        description = "The service experiencing the incident",
        required = false
    },
    {
        name = "severity",
        description = "Incident severity (P1, P2, P3)",
        required = false
    }
}

-- Required: resolve the prompt for a conversation
-- args: user-provided argument values
-- config: values from ctx.toml agent config
-- context: { search = fn, get = fn, sources = fn }
function agent.resolve(args, config, context)
    local service = args.service or "unknown"
    local severity = args.severity or "P2"

    -- Dynamic context: pre-search for relevant runbooks
    local runbooks = context.search({
        query = service .. " incident runbook",
        mode = "keyword",
        limit = config.search_limit or 5,
        filters = { source = "runbooks" }
    })

    -- Build context messages from search results
    local context_docs = ""
    for _, result in ipairs(runbooks) do
        local doc = context.get(result.id)
        context_docs = context_docs .. "\n\n---\n## " .. (doc.title or "Untitled") .. "\n" .. doc.body
    end

    -- Return the resolved prompt
    return {
        system = string.format([[
You are an incident responder for the %s service (%s severity).

Your job is to help triage and resolve the incident. You have access to
the following runbooks and documentation:

%s

Use the `search` tool to find additional relevant documentation.
Use `create_jira_ticket` to create tracking tickets when needed.
Be methodical: gather context, identify the issue, recommend actions.
        ]], service, severity, context_docs),

        -- Optional: additional messages to inject at conversation start
        messages = {
            {
                role = "assistant",
                content = string.format(
                    "I'm ready to help with the %s %s incident. I've loaded %d relevant runbooks. What's the current situation?",
                    severity, service, #runbooks
                )
            }
        }
    }
end

return agent
