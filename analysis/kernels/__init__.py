"""Numeric kernels: arrays in, arrays or named tuples out; no files, no tables, no knowledge of a run.

Conventions, once for all of them:

- `windows` is an integer array (N, 2) of the `(x, y)` in pixels of every *shown* glimpse, the start included;
  `directions` are the N - 1 moves between them, None where the log does not say. Only `official` takes the
  log's own list of windows.
- `window`, `stride` and `panel` are the sides w, s and P of the run's geometry in pixels.
- What is undefined is None (NaN in float arrays), never 0, and `reasons` says why, column by column, in the
  words of `schemas.enums.REASONS`. What does not apply (a second digit on one panel) is None without reason.
- Fractions lie in [0, 1].
"""

KERNEL_VERSION = 1
"""Raised whenever a number that a kernel gives can change; derived tables are keyed by it."""
