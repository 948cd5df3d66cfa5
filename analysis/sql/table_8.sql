-- Table 8 of the paper: accuracy and steps by size of the window, with coverage.
-- Definition: docs/metrics.md 2.1 T8. Means are over scored episodes, as the official runner's summary.
-- Ambiguity: the paper does not state the stride of other windows than 64; it is shown here.
SELECT run, model, condition, horizon, window_px, stride, level, n, n_scored, accuracy_all, accuracy_scored, steps,
    official_stroke_coverage, coverage_window, tags
FROM results
ORDER BY model, condition, level, window_px DESC, stride DESC, run
