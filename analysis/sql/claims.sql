-- The cells of Tables 1-8 as the paper prints them (percent, means), for the claims.
-- Definition: docs/metrics.md 2.1; accuracies over all episodes, rates and coverage over those whose runner did not fail.
-- Ambiguity: where a cell has several runs their episodes are pooled. Table 3 counts readings by the agent's own model.
WITH t AS (
    FROM trials
    SELECT *, CASE horizon WHEN -1 THEN 'inf' ELSE horizon::VARCHAR END AS told,
        (condition = 'image_only' AND horizon = -1)
            OR (condition IN ('textual_state', 'metric_grid_map') AND horizon = 1) AS internal,
        "window_px" = 64 AS published_window
    WHERE model IS NOT NULL AND condition IS NOT NULL AND level IS NOT NULL
),
placed AS (
    FROM t SELECT *, unnest(list_filter([
        CASE WHEN condition = 'native_multi_turn' AND published_window THEN 1 END,
        CASE WHEN internal AND published_window THEN 2 END,
        CASE WHEN (internal OR condition = 'online_canvas') AND published_window THEN 3 END,
        CASE WHEN starts_with(condition, 'agentic') AND published_window THEN 4 END,
        CASE WHEN internal AND published_window THEN 5 END,
        CASE WHEN internal AND published_window AND n_panels = 1 THEN 6 END,
        CASE WHEN condition IN ('textual_state', 'metric_grid_map') AND published_window THEN 7 END,
        CASE WHEN internal THEN 8 END
    ], lambda x: x IS NOT NULL)) AS "table"
),
told AS (
    SELECT "table", model, tags, condition, CASE WHEN "table" = 4 THEN '' ELSE told END AS horizon, window_px, level,
        100 * avg(correct::INT) AS accuracy, avg(CASE WHEN scored THEN n_actions END) AS average_steps,
        100 * avg(control_success::INT) AS control,
        avg(CASE WHEN scored THEN n_moves END) AS moves,
        100 * avg(CASE WHEN scored THEN revisit_rate_moves END) AS revisit_rate,
        100 * avg(CASE WHEN scored THEN coverage_window END) AS stroke_coverage,
        100 * avg(CASE WHEN label IN ('1', '4', '7') THEN correct::INT END) AS accuracy_strokes,
        100 * avg(CASE WHEN label IN ('2', '3', '5') THEN correct::INT END) AS accuracy_curves,
        100 * avg(CASE WHEN label IN ('0', '6', '8', '9') THEN correct::INT END) AS accuracy_loops
    FROM placed
    GROUP BY ALL
),
cells AS (
    UNPIVOT told ON accuracy, average_steps, control, moves, revisit_rate, stroke_coverage, accuracy_strokes,
        accuracy_curves, accuracy_loops INTO NAME metric VALUE value
)
SELECT "table", model, tags, CASE WHEN metric = 'control' THEN 'control' ELSE condition END AS condition,
    CASE WHEN metric = 'control' THEN '' ELSE horizon END AS horizon, window_px, level,
    CASE WHEN metric = 'control' THEN 'accuracy' ELSE metric END AS metric, value
FROM cells
UNION ALL BY NAME
SELECT 3 AS "table", model, tags, condition || '+offline_canvas' AS condition,
    CASE horizon WHEN -1 THEN 'inf' ELSE horizon::VARCHAR END AS horizon, window_px, level, 'accuracy' AS metric,
    100 * avg(read_right::INT) AS value
FROM readings
WHERE own_model AND at_last AND representation = 'canvas' AND evidence = 'window' AND window_px = 64
GROUP BY ALL
