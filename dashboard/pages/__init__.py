"""The pages: each module has `PATH`, `TITLE`, `layout(source, query)` and `register(app, source)`."""

from . import compare, episode, runs, swap

PAGES = (runs, episode, compare, swap)
"""Pages in the order of the navigation."""
