"""The pages: each module has `PATH`, `TITLE`, `layout(source, query)` and `register(app, source)`."""

from . import compare, episode, runs

PAGES = (runs, episode, compare)
"""Pages in the order of the navigation."""
