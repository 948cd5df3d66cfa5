-- Table 2 of the paper: accuracy and steps by model, memory condition and level, with the control on the full picture.
-- Definition: docs/metrics.md 2.1 T2. Steps and coverage are means over scored episodes, as the official runner's
-- summary: steps counts every action, official_stroke_coverage the windows exactly as the log lists them.
-- Ambiguity: the paper shows three conditions; every selected run is listed here, so that none is lost.
SELECT run, model, condition, horizon, window_px, level, n, n_scored, control, accuracy_all, accuracy_scored, steps,
    official_stroke_coverage, tags
FROM results
ORDER BY model, condition, horizon, window_px, level, run
