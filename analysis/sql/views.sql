-- Views that every table starts from. Computes nothing that is not in the store but three things:
--   condition   the paper's name of what a run did (paper section 2, 3): agentic_mcp with its arm, native_multi_turn
--               (whole history, natural turns), else the memory condition.
--   scored      whether an episode counts in accuracy_scored: it has a label and its runner did not fail.
--   readings    replies of predictors beside the episode whose evidence they read; the newest per predictor,
--               version, prompt and settings.
-- Ambiguity: the official runner's natural mode with image_only is the paper's native multi-turn; a run that does
-- not say its turn mode counts under its memory condition.

-- Measures: a struct tells the program which interval belongs to it (analysis/measures.py).
CREATE MACRO share(x) AS struct_pack(k := count(*) FILTER (WHERE x), n := count(x));
CREATE MACRO average(x, cluster) AS struct_pack(v := list(x::DOUBLE), c := list(cluster));
CREATE MACRO fraction(x, cluster) AS struct_pack(f := list(x::DOUBLE), c := list(cluster));
CREATE MACRO pooled(x, y, cluster) AS struct_pack(x := list(x::DOUBLE), y := list(y::DOUBLE), c := list(cluster));
CREATE MACRO middle(x) AS struct_pack(q := list(x::DOUBLE));
CREATE MACRO versus(a, b) AS struct_pack(
    both_right := count(*) FILTER (WHERE a AND b), only_a := count(*) FILTER (WHERE a AND NOT b),
    only_b := count(*) FILTER (WHERE b AND NOT a), neither := count(*) FILTER (WHERE NOT a AND NOT b)
);
CREATE MACRO model_key(x) AS regexp_replace(lower(split_part(x, '/', -1)), '[^a-z0-9]', '', 'g');

CREATE VIEW runs AS
SELECT r.*,
    CASE
        WHEN harness = 'mcp' THEN 'agentic_mcp'
            || CASE arm WHEN 'A1' THEN '+memory' WHEN 'A2' THEN '+memory+feedback' ELSE '' END
        WHEN memory = 'multi_turn' OR (memory = 'image_only' AND turn_mode = 'natural') THEN 'native_multi_turn'
        ELSE memory
    END AS condition
FROM raw_runs r
WHERE run IN (SELECT run FROM selected_runs);

CREATE VIEW episodes AS
SELECT r.run, e.*, coalesce(e.correct IS NOT NULL AND e.stop_reason <> 'error', false) AS scored
FROM raw_episodes e
JOIN runs r USING (ingest_id)
WHERE (SELECT count(*) FROM selected_episodes) = 0
    OR r.run IN (SELECT run FROM selected_runs WHERE everything)
    OR (r.run, e.source_episode_id) IN (SELECT run, source_episode_id FROM selected_episodes);

CREATE VIEW episode_metrics AS
SELECT e.run, e.source_episode_id, m.* FROM raw_episode_metrics m JOIN episodes e USING (ingest_id, episode_id);

CREATE VIEW step_metrics AS
SELECT e.run, e.source_episode_id, m.* FROM raw_step_metrics m JOIN episodes e USING (ingest_id, episode_id);

CREATE VIEW trials AS
SELECT
    r.model, r.condition, r.memory, r.horizon, r.level, r.n_panels, r.t_max, r.run_id, r.tags, r.harness, r.arm,
    r.turn_mode, r.predictor, r.draw_border, r.stride,
    r."window" AS window_px,
    e.*,
    m.* EXCLUDE (ingest_id, episode_id, reasons),
    m.reasons AS metric_reasons
FROM episodes e
JOIN runs r USING (ingest_id)
LEFT JOIN raw_episode_metrics m USING (ingest_id, episode_id);

CREATE VIEW readings AS
SELECT
    t.run, t.source_episode_id, i.ingest_id, i.episode_id, i.glimpse, i.evidence,
    split_part(i.representation, '@', 1) AS representation,
    p.predictor, p.predictor_version, p.prompt_hash, p.settings, p.answer, p.answer_strict, p.parse_status,
    p.probabilities, p.cost, p.latency, p.created,
    CASE WHEN t.label IS NOT NULL THEN coalesce(p.answer = t.label, false) END AS read_right,
    coalesce(i.glimpse IN (-1, t.last_glimpse), false) AS at_last,
    t.model, t.condition, t.level, t.window_px, t.canvas, t.label, t.answer AS own_answer, t.correct, t.scored,
    t.missed_panel, t.min_coverage, t.coverage_window, t.answer_window, t.answer_visible_exact, t.answer_full,
    t.posterior_window, t.horizon, t.n_actions, t.tags,
    model_key(p.predictor) IN (model_key(t.model), model_key(t.predictor))
        OR model_key(p.predictor_version) IN (model_key(t.model), model_key(t.predictor)) AS own_model
FROM raw_inputs i
JOIN trials t USING (ingest_id, episode_id)
JOIN (
    FROM raw_predictions
    WHERE error IS NULL
    QUALIFY row_number() OVER (
        PARTITION BY input_hash, predictor, predictor_version, prompt_hash, settings ORDER BY created DESC
    ) = 1
) p USING (input_hash);

-- One row a run: what tables 1, 2, 4, 5, 7 and 8 show. Means are over scored episodes, as the official runner's.
CREATE VIEW results AS
SELECT
    run, model, condition, horizon, window_px, stride, level,
    count(*) AS n,
    count(*) FILTER (WHERE scored) AS n_scored,
    share(control_success) AS control,
    share(correct) AS accuracy_all,
    share(CASE WHEN scored THEN correct END) AS accuracy_scored,
    average(CASE WHEN scored THEN n_actions END, canvas) AS steps,
    average(CASE WHEN scored THEN n_glimpses END, canvas) AS observations,
    average(CASE WHEN scored THEN n_moves END, canvas) AS moves,
    fraction(CASE WHEN scored THEN revisit_rate_moves END, canvas) AS revisit_rate_macro,
    pooled(CASE WHEN scored THEN n_revisits END, CASE WHEN scored THEN last_glimpse END, canvas) AS revisit_rate_pooled,
    fraction(CASE WHEN scored THEN coverage_window END, canvas) AS coverage_window,
    fraction(CASE WHEN scored THEN coverage_visible_exact END, canvas) AS coverage_visible_exact,
    fraction(CASE WHEN scored THEN official_stroke_coverage END, canvas) AS official_stroke_coverage,
    fraction(CASE WHEN scored THEN official_revisit_rate END, canvas) AS official_revisit_rate,
    any_value(tags) AS tags
FROM trials
GROUP BY run, model, condition, horizon, window_px, stride, level;
