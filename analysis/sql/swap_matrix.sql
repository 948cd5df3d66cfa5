-- The swap matrix: trajectory (run) by representation by predictor, on the evidence after the last shown glimpse.
-- Definition: docs/metrics.md 2.3 (predictor and evidence swap), 6. Down a predictor's column the evidence changes
-- (acquisition), along a run's row the reader (interpretation). own is the agent's own answer on the same episodes.
-- Ambiguity: episodes whose runner failed and inputs without a reply are left out; full is the control that shows all.
SELECT run, model, condition, level, representation, evidence, predictor, predictor_version, count(*) AS n,
    share(correct) AS own, share(read_right) AS accuracy, versus(read_right, correct) AS difference,
    share(CASE WHEN NOT missed_panel THEN read_right END) AS accuracy_every_digit_seen,
    share(CASE WHEN missed_panel THEN read_right END) AS accuracy_a_digit_unseen
FROM readings
WHERE at_last AND scored
GROUP BY ALL
ORDER BY run, representation, evidence, predictor, predictor_version
