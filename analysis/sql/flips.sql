-- Episodes that an agent and a predictor answered differently from the same evidence, after the last shown glimpse.
-- who: predictor (only it was right), agent (only the agent was), neither (both wrong, differently).
-- Definition: docs/metrics.md 2.3. Parameters: $runs (null for all), $predictor, $representation, $evidence, $who (null
-- for all).
SELECT * FROM (
    SELECT
        run, source_episode_id, label, own_answer, answer, correct, read_right, coverage_window, min_coverage,
        representation, evidence, predictor, predictor_version, glimpse,
        CASE WHEN read_right AND NOT correct THEN 'predictor' WHEN correct AND NOT read_right THEN 'agent' ELSE 'neither' END AS who
    FROM readings
    WHERE at_last AND scored AND answer IS DISTINCT FROM own_answer
        AND ($runs IS NULL OR list_contains($runs, run))
        AND predictor = $predictor AND representation = $representation AND evidence = $evidence
)
WHERE $who IS NULL OR who = $who
ORDER BY who DESC, run, try_cast(source_episode_id AS BIGINT), source_episode_id
