-- Every episode with what the dashboard's list shows and sorts by, run by run, in the order of their ids.
SELECT
    run, source_episode_id, label, answer, correct, stop_reason, n_actions, n_glimpses, coverage_window, min_coverage,
    revisit_rate_moves, coalesce(model, agent) AS model, condition, level
FROM trials JOIN (SELECT ingest_id, agent FROM runs) USING (ingest_id)
ORDER BY run, try_cast(source_episode_id AS BIGINT), source_episode_id
