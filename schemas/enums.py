"""Closed lists of the canonical trace."""

from __future__ import annotations

from typing import Literal

ActionKind = Literal["move", "answer", "look", "invalid", "unknown"]
AnswerStatus = Literal["ok", "wrong_length", "unparseable", "missing", "forced", "leading_zero_lost"]
StopReason = Literal["answered", "step_limit", "invalid_action", "no_answer", "error", "running", "unknown"]
ImageStatus = Literal["present", "missing", "redacted", "lossy", "remote"]
Memory = Literal[
    "image_only", "textual_state", "metric_grid_map", "visual_buffer", "online_canvas", "multi_turn", "none"
]
Harness = Literal["turn_based", "natural", "mcp", "none"]
ParseStatus = Literal["ok", "repaired", "no_answer", "wrong_length", "unparseable", "failed"]

REASONS: dict[str, str] = {
    "not_recorded": "the log does not say",
    "ambiguous": "the log allows more than one reading",
    "recovered": "recovered from pictures: which windows is certain, how often each was visited is not",
    "conflicting": "parts of the log contradict each other",
    "canvas_unknown": "the hidden canvas is neither recorded nor rebuildable",
    "canvas_partial": "the canvas is assembled from glimpses and known only in part",
    "geometry_unknown": "window, stride or panel size is not recorded",
    "no_glimpses": "nothing was shown to the agent",
    "no_moves": "the episode has no valid move",
    "no_effective_moves": "no move changed the position",
    "no_strokes": "the canvas has no stroke pixel",
    "too_short": "too few glimpses for the measure",
    "never_reached": "the event did not happen before the episode ended (censored)",
    "label_unknown": "the true label is not recorded",
    "no_tool_calls": "no tool call is recorded",
    "no_picture": "no canvas was written as a picture",
    "no_procedure": "no episode is known to have begun with notes that hold a procedure",
    "no_thoughts": "no thought is recorded",
    "no_revisits": "no move led back to a position held before",
    "error": "the episode failed with an error",
}
"""Why a value is null: every reason column and `reasons` field takes its values from here."""

DIAGNOSTICS: dict[str, str] = {
    "all_records_skipped": "no record of a source could be read",
    "ambiguous_windows": "windows could not be recovered without doubt",
    "answer_conflict": "two places in the log give different answers",
    "arguments_unparseable": "tool arguments are not JSON",
    "canvas_mismatch": "the recorded canvas differs from the one rebuilt from the digit indices",
    "canvas_partial": "the canvas was assembled from glimpses",
    "canvas_unknown": "no canvas recorded and none could be rebuilt",
    "copied_context": "a step copied from an earlier context was left out of counts",
    "digits_unavailable": "digit indices lie outside the embedded digits",
    "duplicate_episode_id": "two episodes share an id; both were kept",
    "duplicate_record": "a record appeared twice; the last was kept",
    "empty_file": "a file holds no bytes",
    "empty_run": "a run holds no episode",
    "episode_failed": "an episode could not be read",
    "geometry_assumed": "window, stride or panel size is not recorded; the published one was assumed",
    "hint_used": "an undocumented field was used as a hint",
    "image_missing": "a picture that the log names is not there",
    "image_redacted": "a picture was removed by the source",
    "image_remote": "a picture lies behind a URL and was not fetched",
    "image_unreadable": "a picture could not be decoded",
    "image_unexpected": "a picture is not of the canvas size or not of the expected kind",
    "invalid_json": "text that should be JSON is not",
    "invalid_value": "a value has the wrong type or lies outside its range",
    "label_too_long": "the label has more digits than the run has panels",
    "lossy_image": "pictures were stored lossily",
    "memory_unknown": "the memory condition's name is not known; kept raw",
    "missing_field": "a required field is missing",
    "non_finite": "a NaN or Infinity stands where a number should be; read as null",
    "non_square_window": "the outlined window is not square",
    "not_a_step_trace": "a whole episode is recorded as one step",
    "not_supported": "a file was recognised but cannot be read",
    "orphan_result": "a tool result belongs to no call",
    "pickle_refused": "pickle files are never opened",
    "record_skipped": "a record was skipped",
    "redundant_record": "a second copy of a record was left out",
    "run_incomplete": "the run was still being written or was cut off",
    "start_mismatch": "the recorded start differs from the one that the canvas gives",
    "summary_conflict": "summary and trajectory disagree; the trajectory was taken",
    "time_unparseable": "a time could not be read",
    "trailing_data": "bytes after the end of a document were ignored",
    "truncated_file": "a file ends in the middle of a record",
    "unknown_action": "an action of an unknown kind was kept as it is",
    "unknown_record": "a record of an unknown kind was left out",
    "unknown_version": "the format's version is newer than this reader",
    "windows_conflict": "windows and pictures, or windows and moves, disagree",
    "windows_recovered": "windows were recovered from pictures",
    "windows_unknown": "windows are neither recorded nor recoverable",
}
"""Codes of the `diagnostics` table and what they mean; adapters use no others."""
