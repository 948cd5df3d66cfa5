"""The world as tools: an MCP server for any agent; a controller keeps what the agent must not see."""
