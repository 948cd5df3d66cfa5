-- Counts and sums over the episodes of each run; `analysis/overview.py` groups and divides them.
-- model: the model that acted, else the policy or program. Outcomes are exclusive and add up to n: right, some (a
-- digit right in its place), wrong (none), invalid (no digits or the wrong number of them), no_answer, error (the
-- runner failed), unjudged (no label).
-- n_over_optimistic: answered and wrong, with less than half of the budget used and less than half of some panel's ink
-- seen (docs/metrics.md 3.2, u = c = .5); n_stops: answered episodes for which that can be said.
WITH told AS (
    SELECT
        run, coalesce(model, agent) AS model, condition, level, tags, t_max, stop_reason, scored, correct, n_actions,
        n_moves, coverage_window, revisit_rate_moves, min_coverage,
        answer_status <> 'missing' AND scored AND t_max IS NOT NULL AND min_coverage IS NOT NULL AS stopped,
        CASE
            WHEN stop_reason = 'error' THEN 'error'
            WHEN label IS NULL THEN 'unjudged'
            WHEN correct THEN 'right'
            WHEN answer_status = 'missing' THEN 'no_answer'
            WHEN answer_status NOT IN ('ok', 'forced') OR answer IS NULL THEN 'invalid'
            WHEN len(list_filter(range(1, len(label) + 1), lambda i: label[i] = answer[i])) > 0 THEN 'some'
            ELSE 'wrong'
        END AS outcome
    FROM trials JOIN (SELECT ingest_id, agent FROM runs) USING (ingest_id)
)
SELECT
    run, any_value(model) AS model, any_value(condition) AS condition, any_value(level) AS level,
    any_value(tags) AS tags,
    count(*) AS n,
    count(*) FILTER (WHERE scored) AS n_scored,
    count(*) FILTER (WHERE scored AND correct) AS n_right,
    count(*) FILTER (WHERE outcome = 'right') AS "right",
    count(*) FILTER (WHERE outcome = 'some') AS some,
    count(*) FILTER (WHERE outcome = 'wrong') AS wrong,
    count(*) FILTER (WHERE outcome = 'invalid') AS invalid,
    count(*) FILTER (WHERE outcome = 'no_answer') AS no_answer,
    count(*) FILTER (WHERE outcome = 'error') AS error,
    count(*) FILTER (WHERE outcome = 'unjudged') AS unjudged,
    count(*) FILTER (WHERE stopped) AS n_stops,
    count(*) FILTER (
        WHERE stopped AND NOT correct AND n_actions < 0.5 * t_max AND min_coverage < 0.5
    ) AS n_over_optimistic,
    sum(n_moves) FILTER (WHERE scored)::DOUBLE AS moves,
    count(n_moves) FILTER (WHERE scored) AS n_moves,
    sum(coverage_window) FILTER (WHERE scored) AS coverage,
    count(coverage_window) FILTER (WHERE scored) AS n_coverage,
    sum(revisit_rate_moves) FILTER (WHERE scored) AS revisits,
    count(revisit_rate_moves) FILTER (WHERE scored) AS n_revisits
FROM told
GROUP BY run
ORDER BY run
