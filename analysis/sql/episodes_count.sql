-- How many episodes `episodes_page` has in all.
SELECT count(*) AS n
FROM episodes
WHERE ($runs IS NULL OR list_contains($runs, run))
    AND ($label IS NULL OR label = $label)
    AND ($episode IS NULL OR source_episode_id = $episode)
    AND ($stop_reason IS NULL OR stop_reason = $stop_reason)
    AND ($outcome IS NULL OR coalesce(correct::VARCHAR, 'none') = CASE $outcome WHEN 'right' THEN 'true' WHEN 'wrong' THEN 'false' ELSE 'none' END)
