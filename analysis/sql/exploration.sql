-- How episodes with two or more digits explore, and the single-digit audit (paper 3.3; the 323, 238, 266 and 15 of its
-- 1,600 traces). One row a statistic, by run and over all of them.
-- Definition: docs/metrics.md 2.2, 2.3, A5, A9; over episodes whose runner did not fail, evidence `window`.
-- Ambiguity: the other digit is the panel seen least. single_digit is strict; _tolerant leaves out answers that may have
-- lost a leading zero. Second evidence counts observations from 1, over episodes that have one. c_first_at_entry is the
-- coverage of the first panel just before. Moves that change nothing are no reversals.
WITH t AS (
    FROM trials
    SELECT *,
        coalesce(regexp_full_match(answer, '[0-9]'), false) AS single,
        array_position(panel_coverage_window, list_min(panel_coverage_window)) AS other
    WHERE n_panels > 1 AND label IS NOT NULL AND stop_reason <> 'error'
)
SELECT coalesce(run, 'all runs') AS run, any_value(CASE WHEN run IS NOT NULL THEN model END) AS model,
    any_value(CASE WHEN run IS NOT NULL THEN condition END) AS condition, count(*) AS n,
    share(single) AS single_digit,
    share(single AND answer_status <> 'leading_zero_lost') AS single_digit_tolerant,
    share(CASE WHEN single THEN min_coverage = 0 END) AS single_digit_other_never_seen,
    share(CASE WHEN single THEN first_entry_area[other] IS NULL END) AS single_digit_other_never_entered,
    share(CASE WHEN single THEN min_coverage < 0.25 END) AS single_digit_other_below_25,
    average(CASE WHEN single THEN n_actions END, canvas) AS single_digit_actions,
    fraction(CASE WHEN single THEN n_actions / t_max END, canvas) AS single_digit_budget_use,
    share(missed_panel) AS missed_panel,
    share(coalesce(length(answer) = n_panels AND left(answer, 1) = left(label, 1), false)) AS positional_first,
    share(coalesce(length(answer) = n_panels AND right(answer, 1) = right(label, 1), false)) AS positional_last,
    share(min_coverage >= 0.75) AS all_digits_ge_75,
    share(CASE WHEN min_coverage >= 0.75 THEN NOT correct END) AS all_digits_ge_75_wrong,
    share(min_coverage >= 0.9) AS all_digits_ge_90,
    share(CASE WHEN min_coverage >= 0.9 THEN NOT correct END) AS all_digits_ge_90_wrong,
    share(CASE WHEN last_glimpse IS NOT NULL THEN second_entry IS NOT NULL END) AS second_digit_seen,
    middle(second_entry + 1) AS second_digit_observation,
    middle(100 * c_first_at_entry) AS first_digit_percent_then,
    share(n_crossings = 1) AS crossed_once,
    share(n_crossings = 2) AS crossed_twice,
    pooled(n_reversals, n_pairs, canvas) AS reversals,
    fraction(coverage_window, canvas) AS coverage_at_stop,
    fraction(min_coverage, canvas) AS min_coverage_at_stop
FROM t
GROUP BY GROUPING SETS ((run), ())
HAVING count(*) > 0 AND (run IS NOT NULL OR count(DISTINCT t.run) > 1)
ORDER BY run IS NULL, run
