-- A line a run: what `analyze` prints.
-- Definition: docs/metrics.md 2.5; over scored episodes but for accuracy_all, shown glimpses, evidence `window`.
-- Ambiguity: none beyond those of the measures.
SELECT run, n, n_scored, accuracy_all, accuracy_scored, coverage_window, revisit_rate_macro AS revisit_rate_moves, moves
FROM results
ORDER BY run
