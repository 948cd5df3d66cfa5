-- Figure 4b of the paper: accuracy against stroke coverage where a predictor read the consolidated canvas.
-- Definition: docs/metrics.md 2.1 F4, T3: representation canvas, evidence window, after the last shown glimpse.
-- Ambiguity: the paper's predictor is the agent's own model; here every predictor that has read is a point of its own.
SELECT run, model, condition, level, predictor, count(*) AS n,
    fraction(coverage_window, canvas) AS coverage, share(read_right) AS accuracy
FROM readings
WHERE representation = 'canvas' AND evidence = 'window' AND at_last AND scored
GROUP BY ALL
ORDER BY level, run, predictor
