-- Figure 3b of the paper: what kinds of answers there are.
-- Definition: docs/metrics.md 2.1 F3b: invalid where the answer is not one digit a panel after the official runner's
-- normalisation; `swapped` answers hold the label's digits in another order and are counted among the wrong ones too.
-- Ambiguity: an episode that ended without an answer counts as invalid here, a runner's failure is left out.
WITH t AS (
    SELECT run, level, n_panels, label, answer, correct,
        answer IS NOT NULL AND length(answer) = n_panels AS valid,
        list_sum([(substr(answer, k, 1) = substr(label, k, 1))::INT for k in range(1, n_panels + 1)]) AS hits,
        list_sort(string_split(answer, '')) = list_sort(string_split(label, '')) AS same_digits
    FROM trials
    WHERE scored AND n_panels = length(label)
)
SELECT level, run, count(*) AS n,
    share(correct) AS exact,
    share(valid AND NOT correct AND hits > 0) AS some_right,
    share(valid AND NOT correct AND hits = 0) AS none_right,
    share(NOT valid) AS invalid,
    share(valid AND NOT correct AND same_digits) AS swapped
FROM t
GROUP BY GROUPING SETS ((level, run), (level))
ORDER BY level, run NULLS FIRST
