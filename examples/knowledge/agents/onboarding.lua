agent = {}

agent.name = "onboarding"
agent.description = "Guides new team members"
agent.tools = { "search", "get" }
agent.arguments = {
    { name = "role", description = "What the new member will do", required = false },
}

function agent.resolve(args, config, context)
    local role = args.role or "engineer"
    local found = context.search({ query = role .. " first week", limit = 4, filters = { source = "onboarding" } })

    local notes = {}
    for _, result in ipairs(found) do
        local document = context.get(result.id)
        notes[#notes + 1] = "## " .. (document.title or result.source_id) .. "\n" .. document.body
    end

    return {
        system = string.format(
            "You guide somebody who has just joined as %s. One step at a time; ask what they have done already.\n\n%s\n\nUse `search` and `get` for whatever is not here, and say which document you rely on.",
            role,
            table.concat(notes, "\n\n")
        ),
    }
end

return agent
