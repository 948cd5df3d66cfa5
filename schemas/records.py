"""The records of the canonical trace. Each class is a table, each field a column, defined here and only here.

A field's annotation gives type and nullability, its `col` the description and unit; `tables.py` derives the
table definitions, the JSON Schema and the documentation from them. Every table also carries `ingest_id`, the key
that ties rows to one ingest of one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, dataclass_transform

from .enums import ActionKind, AnswerStatus, Harness, ImageStatus, Memory, ParseStatus, StopReason
from .geometry import Evidence, Geometry, Point

Json = Any
"""A JSON value; stored as JSON text."""


def col(doc: str, *, unit: str | None = None, default: Any = None, factory: Any = MISSING) -> Any:
    """A column: its description, unit, and default (null unless given)."""
    metadata = {"doc": doc, "unit": unit}
    if factory is not MISSING:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def key(doc: str, *, unit: str | None = None) -> Any:
    """A column without a default."""
    return field(metadata={"doc": doc, "unit": unit})


@dataclass_transform(kw_only_default=True, field_specifiers=(key, field))
def record(cls: type) -> type:
    """Make a slotted, keyword-only dataclass."""
    return dataclass(slots=True, kw_only=True)(cls)


@record
class Usage:
    """Tokens and money of one or more model calls; mixed into the records below by name."""

    tokens_input: int | None = col("Input tokens, cached ones excluded", unit="tokens")
    tokens_cache_read: int | None = col("Input tokens read from a provider's cache", unit="tokens")
    tokens_cache_write: int | None = col("Input tokens written to a provider's cache", unit="tokens")
    tokens_output: int | None = col("Output tokens, reasoning included", unit="tokens")
    tokens_reasoning: int | None = col("Output tokens spent on reasoning, where told apart", unit="tokens")
    cost: float | None = col("Price of the calls, where known", unit="USD")


@record
class Run:
    """One condition over many episodes."""

    run: str = key("Name, unique in a store")
    run_id: str = col("Hash over the whole condition; equal for repeats", default="")
    agent: str | None = col("What acted: a scripted policy, a runner's agent class or a tool-using program")
    model: str | None = col("Model that acted or answered, as the source names it")
    settings: Json = col("Provider settings as sent")
    level: int | None = col("Number of digits on the canvas", unit="digits")
    memory: Memory | None = col("Memory condition, normalised")
    memory_raw: str | None = col("Memory condition as the source names it")
    horizon: int | None = col(
        "Pictures kept in context, the current one included; -1 for all", unit="glimpses"
    )
    turn_mode: str | None = col("turn_based or natural")
    harness: Harness | None = col("What carried actions and pictures")
    arm: str | None = col("Harness arm: A0 none, A1 notes, A2 notes and feedback")
    window: int | None = col("Side of the window", unit="px")
    stride: int | None = col("Shift of one move", unit="px")
    panel: int | None = col("Width and height of one panel", unit="px")
    n_panels: int | None = col("Panels side by side")
    draw_border: bool | None = col("Whether observations carry an outline")
    t_max: int | None = col("Actions allowed, the answer included", unit="actions")
    seed: int | None = col("Seed of the episode sampler")
    repeat: int = col("Number of this repeat of the condition, from 0", default=0)
    predictor: str | None = col("Predictor that answered for a scripted policy")
    source_format: str = col("Name of the adapter that read the run", default="")
    source_version: str | None = col("Version or code state of the source, where known")
    prompts_hash: str | None = col("Hash of the prompt files used")
    created: datetime | None = col("When the run was made (UTC)")
    created_raw: str | None = col("The same as the source has it")
    tags: list[str] = col("User's tags", factory=list)

    def geometry(self) -> Geometry | None:
        """The run's geometry, or None where the source does not give all of it."""
        if self.window is None or self.stride is None or self.panel is None or self.n_panels is None:
            return None
        return Geometry(self.window, self.stride, self.panel, self.n_panels, self.draw_border is not False)


@record
class Step(Usage):
    """One action and the observation that followed it."""

    step: int = key("Position of the action in the episode, from 0")
    source_step: str | None = col("Step number as the source has it")
    action_kind: ActionKind = key("Kind of action")
    action_raw: str | None = col("Action as the source has it (JSON text where it is an object)")
    direction: str | None = col("Direction of a move, as given")
    valid: bool = col("Whether the world accepted the action", default=True)
    window_before: Point | None = col("Window before the action (x, y)", unit="px")
    window_after: Point | None = col("Window after the action (x, y)", unit="px")
    clipped: bool | None = col("Whether the canvas edge clipped the move, wholly or in part")
    shown: bool = col("Whether the observation after a valid move was put before the agent", default=False)
    image: str | None = col("sha256 of the recorded picture after the action")
    image_status: ImageStatus | None = col("State of that picture")
    reward: float | None = col("Reward of the world")
    model_latency: float | None = col("Duration of the model call", unit="s")
    env_latency: float | None = col("Duration of the world's step", unit="s")


@record
class StepText:
    """The words of one step; kept apart because they are most of the bytes."""

    step: int = key("Position of the action in the episode, from 0")
    thought: str | None = col("What the agent wrote beside its action")
    spatial_map: Json = col("Map entries [{coords, features}], where the memory asks for them")
    raw_reply: str | None = col("The whole reply")


@record
class Attempt(Usage):
    """A model call whose reply was not used; never a step."""

    step: int = key("Step that the call was made for")
    attempt: int = key("Position among the attempts of that step, from 0")
    raw_reply: str | None = col("The reply, where one came")
    error: str | None = col("Why it was not used")


@record
class ToolCall:
    """One tool call of a tool-using agent."""

    position: int = key("Position among the episode's calls, from 0")
    step: int | None = col("Step that the call made, null for calls that are no action")
    call_id: str | None = col("Id as the source has it")
    tool: str = key("Tool name as the source has it")
    arguments: Json = col("Arguments")
    arguments_raw: str | None = col("Arguments as text, where the source has text")
    arguments_error: str | None = col("Why the arguments could not be parsed")
    result: str | None = col("Textual result")
    image: str | None = col("sha256 of the picture in the result")
    is_error: bool | None = col("Whether the call failed")
    time: datetime | None = col("When it was made (UTC)")


@record
class Note:
    """A note that the agent kept (arms A1 and A2) or a message of the harness."""

    position: int = key("Position among the episode's notes, from 0")
    kind: str = col("notes_before, notes_after or feedback", default="notes_after")
    text: str = key("Text of the note")


@record
class Episode(Usage):
    """One hidden canvas, a start, and what the agent did."""

    episode_id: str = key("Id, unique in the run")
    source_episode_id: str = key("Id as the source has it")
    execution_position: int | None = col("Position in the order of execution, where it matters")
    canvas: str | None = col("Pixel hash of the hidden canvas")
    digit_indices: list[int] | None = col("Indices of the digits in the MNIST test set")
    label: str | None = col("True digits, left to right")
    start: Point | None = col("First window (x, y)", unit="px")
    start_shown: bool = col("Whether the first observation was put before the agent", default=True)
    start_image: str | None = col("sha256 of the recorded first picture")
    start_image_status: ImageStatus | None = col("State of that picture")
    windows_source: list[Point] | None = col("Windows exactly as the log lists them", unit="px")
    answer_source: str | None = col("Final answer of the log, verbatim")
    answer_raw: str | None = col("What the agent gave, as JSON text")
    answer_raw_type: str | None = col("JSON type of what the agent gave")
    answer: str | None = col("Digits answered, or null")
    answer_status: AnswerStatus = col("How the answer came out", default="missing")
    termination_raw: str | None = col("How the episode ended, verbatim")
    stop_reason: StopReason = col("How the episode ended", default="unknown")
    success: bool | None = col("The source's verdict")
    correct: bool | None = col("Whether answer equals label; null without a label")
    control_answer: str | None = col("Answer of the same model to the full picture")
    control_success: bool | None = col("The source's verdict on the control answer")
    error: str | None = col("Error of the runner")
    n_actions: int | None = col("Actions, answer and invalid ones included")
    n_moves: int | None = col("Valid moves, blocked ones included")
    n_moves_effective: int | None = col("Moves that changed the position")
    n_glimpses: int | None = col("Observations shown to the agent, looks excluded")
    n_glimpses_reached: int | None = col("The start and one for each valid move")
    reward: float | None = col("Total reward of the world")
    started: datetime | None = col("Start (UTC)")
    duration: float | None = col("Wall time", unit="s")
    complete: bool = col("Whether the source had finished writing the episode", default=True)
    lossy: bool = col("Whether something was lost or changed on the way here", default=False)
    world_key: str | None = col("Hash of canvas, geometry and start: what paired comparisons join on")
    repeat: int = col("Number of this repeat of the episode, from 0", default=0)
    reasons: Json = col("Column name to reason for columns that are null though they matter")

    steps: list[Step] = field(default_factory=list)
    step_texts: list[StepText] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def reached(self) -> Iterator[Glimpse]:
        """Glimpses reached: the start, and one for each valid move, in order."""
        if self.start is not None or self.start_image is not None:
            yield Glimpse(None, self.start, self.start_image, self.start_shown)
        for step in self.steps:
            if step.action_kind == "move" and step.valid:
                yield Glimpse(step.step, step.window_after, step.image, step.shown)

    def glimpses(self) -> list[Glimpse]:
        """Shown glimpses, in order; the index in this list is the glimpse's number."""
        return [glimpse for glimpse in self.reached() if glimpse.shown]

    def windows(self) -> list[Point] | None:
        """Windows of the shown glimpses, or None where one of them is unknown."""
        if "glimpses" in (self.reasons or {}):
            return None
        windows = [glimpse.window for glimpse in self.glimpses()]
        return None if not windows or None in windows else windows  # type: ignore[return-value]


class Glimpse(NamedTuple):
    """One observation: the step that led to it (None for the start), its window, its recorded picture."""

    step: int | None
    window: Point | None
    image: str | None
    shown: bool


@record
class Canvas:
    """A hidden canvas, addressed by the hash of its pixels."""

    canvas: str = key("Pixel hash")
    png: bytes = key("Greyscale PNG; strokes 0, ground 255")
    known: bytes | None = col("PNG mask of the known pixels, where the canvas is known in part only")
    width: int = key("Width", unit="px")
    height: int = key("Height", unit="px")


@record
class Image:
    """A recorded picture, addressed by the hash of its file."""

    image: str = key("sha256 of the file")
    data: bytes = key("The file")


@record
class Diagnostic:
    """Something that ingest found wrong, and where."""

    code: str = key("Code from the closed list")
    message: str = key("What was found")
    path: str | None = col("File, relative to the ingested folder")
    position: str | None = col("Where in the file: byte, line or key")
    episode_id: str | None = col("Episode, where it concerns one")


@record
class SourceFile:
    """A file that was read."""

    path: str = key("Path relative to the ingested folder")
    size: int = key("Size", unit="bytes")
    sha256: str = key("sha256 of the file")
    adapter: str = key("Adapter that read it")
    adapter_version: int = key("Version of that adapter")


@record
class PredictionRow(Usage):
    """A predictor's reply to one input; also the cache of replies."""

    input_hash: str = key("Hash of the input: pixels, text, representation and version")
    representation: str = key("Name and version of the representation, as name@version")
    predictor: str = key("Predictor as named in the call")
    predictor_version: str = key("Model or weights behind that name")
    prompt_hash: str = col("Hash of the prompt, empty where there is none", default="")
    settings: Json = col("Settings as sent")
    answer: str | None = col("Answer by the robust parser, or null")
    answer_strict: str | None = col("Answer by the official runner's parser, or null")
    parse_status: ParseStatus = key("How the answer came out")
    probabilities: list[list[float]] | None = col("Per panel, probability of each digit 0-9")
    raw_reply: str | None = col("The whole reply")
    latency: float | None = col("Duration of the call", unit="s")
    error: str | None = col("Why there is no reply")
    created: datetime | None = col("When the reply came (UTC)")


@record
class InputRow:
    """Which predictor input the evidence of an episode gives."""

    episode_id: str = key("Episode")
    glimpse: int = key(
        "Last shown glimpse in the evidence, from 0; -1 for representations of the whole canvas"
    )
    evidence: Evidence = key("Evidence mode")
    representation: str = key("Name and version of the representation, as name@version")
    input_hash: str = key("Hash of the input, key into predictions")
