-- Parts of the interpretation gap, where a predictor has read the frozen canvas too.
-- Definition: docs/metrics.md 3.2. By the agent's own model: construction = canvas - agent, readout = f(evidence) - canvas;
-- they add up to f(evidence) - agent on the same episodes. Where the same predictor read `glimpses` as well (design page,
-- Replay): format = glimpses - agent, organisation = canvas - glimpses.
-- Ambiguity: only answered, scored episodes that were read in every form named; n says how many.
WITH r AS (
    FROM readings WHERE at_last AND scored AND own_answer IS NOT NULL AND evidence = $evidence
        AND representation IN ('canvas', 'glimpses')
),
c AS (FROM r WHERE representation = 'canvas'),
g AS (FROM r WHERE representation = 'glimpses')
SELECT run, model, condition, level, evidence, predictor, count(*) AS n,
    fraction(read_right::INT - correct::INT, canvas) AS construction,
    fraction(coalesce(CASE $evidence WHEN 'window' THEN answer_window ELSE answer_visible_exact END = label, false)::INT
        - read_right::INT, canvas) AS readout,
    NULL AS format, NULL AS organisation
FROM c
WHERE own_model AND posterior_window IS NOT NULL
GROUP BY ALL
UNION ALL BY NAME
SELECT c.run, c.model, c.condition, c.level, c.evidence, c.predictor, count(*) AS n,
    fraction(g.read_right::INT - c.correct::INT, c.canvas) AS format,
    fraction(c.read_right::INT - g.read_right::INT, c.canvas) AS organisation
FROM c JOIN g USING (ingest_id, episode_id, predictor, predictor_version, prompt_hash)
GROUP BY ALL
ORDER BY run, predictor
