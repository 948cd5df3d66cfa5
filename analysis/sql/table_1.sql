-- Table 1 of the paper: native multi-turn with the whole visual history. Accuracy and steps by model and level.
-- Definition: docs/metrics.md 2.1 T1; steps are actions, the answer included (Table 2 minus Table 5 is 1).
-- Ambiguity: the paper divides by all 100 episodes (accuracy_all), the official runner by those whose runner did not
-- fail (accuracy_scored); both are shown. The average over levels is unweighted.
SELECT run, model, condition, horizon, window_px, level, n, n_scored, control, accuracy_all, accuracy_scored, steps, tags
FROM results
WHERE condition = 'native_multi_turn'
ORDER BY model, level, run
