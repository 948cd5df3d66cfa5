"""The pages: each module has `PATH`, `TITLE`, `layout(source, query)` and `register(app, source)`."""

from . import episode, runs

PAGES = (runs, episode)
"""Pages in the order of the navigation."""
