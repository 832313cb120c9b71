agent = {}

agent.name = "writer"
agent.description = "Helps write docs matching project style"
agent.tools = { "search", "get" }
agent.arguments = {
    { name = "topic", description = "What the text is about", required = false },
}

function agent.resolve(args, config, context)
    local topic = args.topic or "documentation"
    local found = context.search({ query = topic .. " writing style", limit = 4, filters = { source = "conventions" } })

    local notes = {}
    for _, result in ipairs(found) do
        local document = context.get(result.id)
        notes[#notes + 1] = "## " .. (document.title or result.source_id) .. "\n" .. document.body
    end

    return {
        system = string.format(
            "You help to write about %s, in the style of this project.\n\n%s\n\nUse `search` and `get` for whatever is not here, and say which document you rely on.",
            topic,
            table.concat(notes, "\n\n")
        ),
    }
end

return agent
