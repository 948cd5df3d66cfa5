-- Figure 3a of the paper: accuracy at each position, and of the whole answer, by number of digits.
-- Definition: docs/metrics.md 2.1 F3a: the k-th digit is right where the k-th digit of the answer is that of the label;
-- an answer of another length, and no answer, is wrong at every position.
-- Ambiguity: which runs are pooled is the cohort's affair; `run` null pools the selected ones.
WITH t AS (
    SELECT run, level, n_panels, label, CASE WHEN length(answer) = length(label) THEN answer END AS answer, correct
    FROM trials
    WHERE label IS NOT NULL AND n_panels = length(label)
),
placed AS (
    SELECT run, level, 'digit ' || k AS position, coalesce(substr(answer, k, 1) = substr(label, k, 1), false) AS hit
    FROM t, unnest(range(1, n_panels + 1)) AS u(k)
    UNION ALL
    SELECT run, level, 'all digits', correct FROM t
)
SELECT level, run, position, count(*) AS n, share(hit) AS accuracy
FROM placed
GROUP BY GROUPING SETS ((level, run, position), (level, position))
ORDER BY level, run NULLS FIRST, position
