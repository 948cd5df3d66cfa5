-- Accuracy on one digit by topology: of the label, and of the digit as drawn.
-- Definition: docs/metrics.md 2.1 T6, 2.5 (topology_label, topology_euler): Euler number of the strokes of the whole
-- canvas, 8-connected; parts minus holes, so that 1 is a line, 0 one loop, -1 two.
-- Ambiguity: thin strokes break and pinholes open when a digit is drawn black on white, and count.
WITH t AS (
    FROM trials
    SELECT *, CASE WHEN label IN ('1', '4', '7') THEN 'strokes' WHEN label IN ('2', '3', '5') THEN 'curves'
        ELSE 'loops' END AS by_label
    WHERE n_panels = 1 AND label IS NOT NULL
)
SELECT run, model, condition, level, 'label' AS topology, by_label AS value, count(*) AS n,
    share(correct) AS accuracy_all, share(CASE WHEN scored THEN correct END) AS accuracy_scored,
    fraction(coverage_window, canvas) AS coverage_window
FROM t GROUP BY ALL
UNION ALL BY NAME
SELECT run, model, condition, level, 'euler' AS topology,
    CASE WHEN euler[1] >= 1 THEN 'no loop' WHEN euler[1] = 0 THEN 'one loop' ELSE 'more loops' END AS value,
    count(*) AS n, share(correct) AS accuracy_all, share(CASE WHEN scored THEN correct END) AS accuracy_scored,
    fraction(coverage_window, canvas) AS coverage_window
FROM t WHERE euler IS NOT NULL GROUP BY ALL
ORDER BY model, condition, run, topology DESC, value DESC
