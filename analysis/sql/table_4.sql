-- Table 4 of the paper: a coding agent over tools against the same model in the loop.
-- Definition: docs/metrics.md 2.1 T4. observations counts shown glimpses; the paper compares those, not steps.
-- Ambiguity: the official runner warns not to merge tool runs with Table 2, since an agent there may look again.
SELECT run, model, condition, horizon, window_px, level, n, n_scored, accuracy_all, accuracy_scored, steps, observations,
    tags
FROM results
WHERE model IN (SELECT model FROM results WHERE starts_with(condition, 'agentic'))
ORDER BY model, condition, level, run
