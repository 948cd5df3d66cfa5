-- Episodes with the reference reader's posterior after each shown glimpse: what stopping is measured on.
-- Definition: docs/metrics.md 3.1, 3.2 (posterior q_t, stopping glimpse tau = the last shown one).
-- Left out: runner errors (they did not stop), unknown labels, labels that do not fit the canvas, glimpses not read.
WITH read AS (
    FROM step_metrics
    SELECT run, episode_id,
        list(CASE WHEN $evidence = 'window' THEN posterior_window ELSE posterior_visible_exact END ORDER BY glimpse)
            AS posterior,
        list(CASE WHEN $evidence = 'window' THEN coverage_window ELSE coverage_visible_exact END ORDER BY glimpse)
            AS coverage,
        list(CASE WHEN $evidence = 'window' THEN panel_coverage_window ELSE panel_coverage_visible_exact END
            ORDER BY glimpse) AS panel_coverage,
        list(new_ink ORDER BY glimpse) AS new_ink,
        bool_and(posterior_window IS NOT NULL AND new_ink IS NOT NULL) AS whole
    GROUP BY ALL
)
SELECT r.run, r.episode_id, e.source_episode_id, e.canvas, e.label, e.answer, e.stop_reason, e.n_actions, runs.t_max,
    r.posterior, r.coverage, r.panel_coverage, r.new_ink
FROM read r JOIN episodes e USING (run, episode_id) JOIN runs USING (run)
WHERE r.whole AND e.label IS NOT NULL AND e.stop_reason NOT IN ('error', 'running')
    AND length(e.label) = len(r.posterior[1])
ORDER BY r.run, r.episode_id
