-- Agreement of runs that faced the same worlds: who is right where, and do they answer alike?
-- Definition: docs/metrics.md 5; pairs join on world_key (canvas, geometry, start) and repeat (design page, rule 8).
-- Ambiguity: where a run holds the same world several times, the first joins the first, and so on. Scored episodes only;
-- n_a and n_b say how many each run has, n how many joined.
WITH t AS (
    FROM trials
    SELECT *, row_number() OVER (PARTITION BY run, world_key, repeat ORDER BY episode_id) AS occurrence,
        count(*) OVER (PARTITION BY run) AS n_run
    WHERE scored AND world_key IS NOT NULL
)
SELECT a.run AS run_a, b.run AS run_b, a.n_run AS n_a, b.n_run AS n_b, count(*) AS n,
    share(a.correct) AS accuracy_a, share(b.correct) AS accuracy_b,
    versus(a.correct, b.correct) AS difference,
    share(coalesce(a.answer = b.answer, a.answer IS NULL AND b.answer IS NULL)) AS same_answer,
    share(CASE WHEN NOT a.correct AND NOT b.correct AND a.answer IS NOT NULL THEN coalesce(a.answer = b.answer, false) END)
        AS same_wrong_answer
FROM t a JOIN t b ON a.world_key = b.world_key AND a.repeat = b.repeat AND a.occurrence = b.occurrence AND a.run < b.run
GROUP BY ALL
ORDER BY run_a, run_b
