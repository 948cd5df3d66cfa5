"""The pages: each module has `PATH`, `TITLE`, `layout(source, query)` and `register(app, source)`."""

from . import audit, compare, episode, heatmaps, runs, swap

PAGES = (runs, episode, compare, swap, audit, heatmaps)
"""Pages in the order of the navigation."""
