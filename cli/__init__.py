"""The command line: parses, composes the rooms, prints."""
