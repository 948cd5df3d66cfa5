-- Table 6 of the paper: accuracy on one digit by the topology of its label.
-- Definition: docs/metrics.md 2.1 T6: strokes 1 4 7, curves 2 3 5, loops 0 6 8 9.
-- Ambiguity: the groups are by label, not by the digit as drawn (open and closed 4s); see `topology`.
WITH t AS (
    FROM trials
    SELECT *, CASE WHEN label IN ('1', '4', '7') THEN 'strokes' WHEN label IN ('2', '3', '5') THEN 'curves'
        ELSE 'loops' END AS topology
    WHERE n_panels = 1 AND label IS NOT NULL
)
SELECT run, model, condition, horizon, window_px, level, topology, count(*) AS n,
    share(correct) AS accuracy_all, share(CASE WHEN scored THEN correct END) AS accuracy_scored,
    any_value(tags) AS tags
FROM t
GROUP BY run, model, condition, horizon, window_px, level, topology
ORDER BY model, condition, run, topology = 'loops', topology = 'curves'
