-- Figure 3c of the paper: accuracy by the coverage of the least seen digit.
-- Definition: docs/metrics.md 2.1 F3c: bins up to 25 %, 25-50 %, 50-75 %, above 75 %, closed at the right; evidence window.
-- Ambiguity: on which side a bin is closed is not stated in the paper; the 1,600-trace audit uses < 25 %.
WITH t AS (
    SELECT run, level, correct,
        CASE WHEN min_coverage <= .25 THEN '0-25 %' WHEN min_coverage <= .5 THEN '25-50 %'
            WHEN min_coverage <= .75 THEN '50-75 %' ELSE '75-100 %' END AS least_seen
    FROM trials
    WHERE scored AND min_coverage IS NOT NULL
)
SELECT level, run, least_seen, count(*) AS n, share(correct) AS accuracy
FROM t
GROUP BY GROUPING SETS ((level, run, least_seen), (level, least_seen))
ORDER BY level, run NULLS FIRST, least_seen
