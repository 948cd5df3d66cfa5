-- Table 3 of the paper: the same trajectories with and without a canvas, and the online canvas.
-- Definition: docs/metrics.md 2.1 T3. A predictor reads the consolidated canvas of everything shown; steps are those of
-- the frozen run. gain is paired on the same episodes (Newcombe's interval, McNemar's exact p).
-- Ambiguity: the paper lets the agent's own model read; every predictor that read is listed, and own_model says which
-- is the agent's. Episodes whose runner failed are left out.
SELECT run, model, condition || '+offline_canvas' AS condition, horizon, window_px, level, predictor, evidence,
    coalesce(own_model, false) AS own_model, count(*) AS n,
    share(correct) AS accuracy_without, share(read_right) AS accuracy_with, versus(read_right, correct) AS gain,
    average(n_actions, canvas) AS steps, any_value(tags) AS tags
FROM readings
WHERE representation IN ('canvas', 'canvas+glimpse') AND at_last AND scored
GROUP BY ALL
UNION ALL BY NAME
SELECT run, model, condition, horizon, window_px, level, n_scored AS n, accuracy_scored AS accuracy_with, steps, tags
FROM results
WHERE condition = 'online_canvas'
ORDER BY model, condition, level, run, predictor, evidence
