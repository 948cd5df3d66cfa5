-- Table 6 of the paper: accuracy on one digit by the topology of its label.
-- Definition: docs/metrics.md 2.1 T6: strokes 1 4 7, curves 2 3 5, loops 0 6 8 9.
-- Ambiguity: the groups are by label, not by the digit as drawn (open and closed 4s); see `topology`.
SELECT run, model, condition, horizon, window_px, level,
    CASE WHEN label IN ('1', '4', '7') THEN 'strokes' WHEN label IN ('2', '3', '5') THEN 'curves' ELSE 'loops' END
        AS topology,
    count(*) AS n, share(correct) AS accuracy_all, share(CASE WHEN scored THEN correct END) AS accuracy_scored,
    any_value(tags) AS tags
FROM trials
WHERE n_panels = 1 AND label IS NOT NULL
GROUP BY ALL
ORDER BY model, condition, run, array_position(['strokes', 'curves', 'loops'], topology)
