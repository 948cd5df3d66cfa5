-- Figure 4a of the paper: accuracy against stroke coverage, a point a run, agents by themselves.
-- Definition: docs/metrics.md 2.1 F4; scored episodes, evidence window.
-- Ambiguity: whether the paper pools levels is not stated; here they are apart.
SELECT run, model, condition, level, n_scored AS n, coverage_window AS coverage, accuracy_scored AS accuracy
FROM results
WHERE n_scored > 0
ORDER BY level, run
