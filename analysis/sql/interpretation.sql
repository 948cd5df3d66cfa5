-- Readings of the same frozen canvases, for the leaderboard of predictors.
-- Definition: the representation `canvas` after the last shown glimpse; docs/metrics.md 5 for tests.
-- Ambiguity: predictors are compared on the episodes that all of them have read; how many those are is in n.
SELECT ingest_id, episode_id, predictor, any_value(predictor_version ORDER BY created DESC) AS predictor_version,
    any_value(read_right ORDER BY created DESC) AS read_right, any_value(label) AS label,
    any_value(min_coverage) AS min_coverage
FROM readings
WHERE representation = 'canvas' AND at_last AND evidence = $evidence AND label IS NOT NULL
GROUP BY ingest_id, episode_id, predictor
ORDER BY ingest_id, episode_id, predictor
