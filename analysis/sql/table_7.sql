-- Table 7 of the paper: accuracy and steps by length of the visual history (-1 for all of it).
-- Definition: docs/metrics.md 2.1 T7.
-- Ambiguity: natural turns always carry the whole history, whatever the horizon says; they are under Table 1.
SELECT run, model, condition, horizon, window_px, level, n, n_scored, accuracy_all, accuracy_scored, steps, tags
FROM results
WHERE horizon IS NOT NULL AND condition <> 'native_multi_turn' AND NOT starts_with(condition, 'agentic')
ORDER BY model, condition, level, CASE horizon WHEN -1 THEN 1000000 ELSE horizon END, run
