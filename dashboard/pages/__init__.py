"""The pages: each module has `PATH`, `TITLE`, `layout(source, query)` and `register(app, source)`."""

from . import audit, beliefs, compare, episode, heatmaps, runs, stopping, swap

PAGES = (runs, episode, compare, swap, stopping, beliefs, audit, heatmaps)
"""Pages in the order of the navigation."""
