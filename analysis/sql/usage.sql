-- What a run cost: tokens, money, time, and calls whose reply was not used.
-- Definition: the trace's usage split (design page): uncached input, cache read and write, output, reasoning.
-- Ambiguity: null where the source records none; the official runner keeps the usage of the last retry only, so that
-- its sums are too low.
SELECT t.run, any_value(model) AS model, any_value(condition) AS condition, any_value(level) AS level, count(*) AS n,
    sum(tokens_input) AS tokens_input, sum(tokens_cache_read) AS tokens_cache_read,
    sum(tokens_cache_write) AS tokens_cache_write, sum(tokens_output) AS tokens_output,
    sum(tokens_reasoning) AS tokens_reasoning, sum(cost) AS cost,
    average(tokens_input + coalesce(tokens_cache_read, 0) + coalesce(tokens_cache_write, 0), canvas) AS input_per_episode,
    average(tokens_output, canvas) AS output_per_episode,
    average(cost, canvas) AS cost_per_episode,
    average(duration, canvas) AS seconds_per_episode,
    any_value(l.latency) AS model_latency, any_value(coalesce(a.attempts, 0)) AS unused_replies
FROM trials t
LEFT JOIN (SELECT run, avg(model_latency) AS latency FROM steps GROUP BY run) l USING (run)
LEFT JOIN (SELECT run, count(*) AS attempts FROM attempts GROUP BY run) a USING (run)
GROUP BY t.run
ORDER BY t.run
