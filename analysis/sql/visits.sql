-- How often each window position was shown, over the episodes of runs of one geometry.
-- Parameters: $window, $stride, $panel, $n_panels, $runs (null for all), $label (a digit anywhere in the label, null for
-- all), $outcome (right, wrong, null for all). n_episodes: episodes behind the counts.
WITH e AS (
    SELECT e.ingest_id, e.episode_id
    FROM episodes e JOIN runs r USING (ingest_id)
    WHERE r."window" = $window AND r.stride = $stride AND r.panel = $panel AND r.n_panels = $n_panels
        AND ($runs IS NULL OR list_contains($runs, r.run))
        AND ($label IS NULL OR contains(e.label, $label))
        AND ($outcome IS NULL OR e.correct = ($outcome = 'right'))
)
SELECT s."window"[1] AS x, s."window"[2] AS y, count(*) AS n, (SELECT count(*) FROM e) AS n_episodes
FROM step_metrics s JOIN e USING (ingest_id, episode_id)
GROUP BY ALL
