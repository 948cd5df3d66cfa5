-- Where the error comes from: reference error + acquisition + interpretation + no answer = error of the agent, exactly.
-- Definition: docs/metrics.md 0.8, 3.2, with f the reference reader: reference_error = 1 - f on the whole canvas,
-- acquisition = f(whole) - f(evidence), interpretation = f(evidence) - agent where it answered, no_answer the same
-- where it did not. Values are means of per-episode differences in {-1, 0, 1}; intervals resample canvases.
-- Ambiguity: a negative interpretation gap means that the agent beats f. Scored episodes with canvas and windows only.
WITH t AS (
    SELECT run, model, condition, level, canvas, answer IS NULL AS silent, correct::INT AS agent,
        coalesce(answer_full = label, false)::INT AS whole,
        coalesce(CASE $evidence WHEN 'window' THEN answer_window ELSE answer_visible_exact END = label, false)::INT AS seen
    FROM trials
    WHERE scored AND posterior_full IS NOT NULL AND posterior_window IS NOT NULL
)
SELECT run, model, condition, level, $evidence AS evidence, NULL::VARCHAR AS predictor, count(*) AS n,
    fraction(1 - agent, canvas) AS agent_error,
    fraction(1 - whole, canvas) AS reference_error,
    fraction(whole - seen, canvas) AS acquisition,
    fraction(CASE WHEN silent THEN 0 ELSE seen - agent END, canvas) AS interpretation,
    fraction(CASE WHEN silent THEN seen - agent ELSE 0 END, canvas) AS no_answer
FROM t
GROUP BY ALL
ORDER BY run
