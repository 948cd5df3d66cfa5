-- Table 5 of the paper: moves, revisits and stroke coverage, over scored episodes and shown glimpses.
-- Definition: docs/metrics.md 2.1 T5, A1. revisit_rate divides revisits by moves (N - distinct positions over N - 1);
-- macro is the mean of episodes that moved, pooled the sum over the sum.
-- Ambiguity: which of the two the paper prints is not stated. official_* count the log's own windows, with the one after
-- the last allowed move and repeats after a rejected direction, and divide by observations.
SELECT run, model, condition, horizon, window_px, level, n_scored AS n, moves, revisit_rate_macro, revisit_rate_pooled,
    coverage_window, coverage_visible_exact, official_stroke_coverage, official_revisit_rate, tags
FROM results
ORDER BY model, condition, level, run
