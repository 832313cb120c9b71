tool = {
    name = "create_jira_ticket",
    description = "Creates a ticket for somebody to look at",
    parameters = {
        { name = "title", type = "string", required = true, description = "One line that says what is wrong" },
        { name = "body", type = "string", description = "What is known so far" },
        { name = "priority", type = "string", enum = { "P1", "P2", "P3" }, default = "P2", description = "How urgent it is" },
    },
}

function tool.execute(params, context)
    local related = context.search(params.title, { limit = 3 })
    local links = {}
    for i, result in ipairs(related) do links[i] = result.source .. "/" .. result.source_id end

    local response = http.post(context.config.url .. "/tickets", {
        title = params.title,
        body = params.body,
        priority = params.priority,
        links = links,
    })
    if not response.ok then error("the ticket server answered " .. response.status, 0) end
    return { key = response.json.key, url = context.config.url .. "/tickets/" .. response.json.key, related = #links }
end

return tool
