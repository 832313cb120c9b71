agent = {}

agent.name = "code-reviewer"
agent.description = "Reviews PRs against team conventions"
agent.tools = { "search", "get" }
agent.arguments = {
    { name = "area", description = "What the change is about", required = false },
}

function agent.resolve(args, config, context)
    local area = args.area or "code"
    local found = context.search({ query = area .. " conventions", limit = 4, filters = { source = "conventions" } })

    local notes = {}
    for _, result in ipairs(found) do
        local document = context.get(result.id)
        notes[#notes + 1] = "## " .. (document.title or result.source_id) .. "\n" .. document.body
    end

    return {
        system = string.format(
            "You review a change (%s) against the conventions of this team. Cite the convention that a remark rests on.\n\n%s\n\nUse `search` and `get` for whatever is not here, and say which document you rely on.",
            area,
            table.concat(notes, "\n\n")
        ),
    }
end

return agent
