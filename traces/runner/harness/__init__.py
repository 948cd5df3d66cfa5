"""The world as tools: an MCP server for any agent, and the controller that keeps what the agent must not see."""
