-- A page of the list of episodes, in the order asked for and then as they came. Parameters as in `episodes_count`, and
-- $start and $rows.
SELECT
    run, source_episode_id, label, answer, correct, stop_reason, n_actions, n_glimpses, coverage_window, min_coverage,
    revisit_rate_moves, model, condition, level
FROM trials
WHERE ($runs IS NULL OR list_contains($runs, run))
    AND ($label IS NULL OR label = $label)
    AND ($episode IS NULL OR source_episode_id = $episode)
    AND ($stop_reason IS NULL OR stop_reason = $stop_reason)
    AND ($outcome IS NULL OR coalesce(correct::VARCHAR, 'none') = CASE $outcome WHEN 'right' THEN 'true' WHEN 'wrong' THEN 'false' ELSE 'none' END)
ORDER BY /* order */ run, try_cast(source_episode_id AS BIGINT), source_episode_id
LIMIT $rows OFFSET $start
