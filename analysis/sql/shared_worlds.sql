-- Worlds (canvas, geometry, start) that every run of $runs has an episode of: what may be compared side by side.
-- Definition: design, counting rule 8. n_worlds: worlds that any of them has. Repeats: the first of each run.
WITH e AS (
    SELECT run, world_key, label, source_episode_id, correct, answer, n_actions
    FROM episodes
    WHERE list_contains($runs, run) AND world_key IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY run, world_key ORDER BY repeat, source_episode_id) = 1
)
SELECT
    world_key, any_value(label) AS label,
    list({'run': run, 'id': source_episode_id, 'correct': correct, 'answer': answer, 'n_actions': n_actions}) AS episodes,
    (SELECT count(DISTINCT world_key) FROM e) AS n_worlds
FROM e
GROUP BY world_key
HAVING count(*) = len($runs)
ORDER BY min(try_cast(source_episode_id AS BIGINT)), min(source_episode_id)
