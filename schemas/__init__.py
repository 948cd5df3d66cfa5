"""The canonical trace: records, enumerations, geometry, tables and the predictor protocol. Pure data, no I/O."""

from .geometry import DIRECTIONS, EVIDENCE_MODES, Direction, Evidence, Geometry, Point, walk
from .predictor import UNSEEN, Predictor, PredictorInput, Reading
from .records import (
    Attempt,
    Canvas,
    Diagnostic,
    Episode,
    Glimpse,
    Image,
    InputRow,
    Note,
    PredictionRow,
    Run,
    SourceFile,
    Step,
    StepText,
    ToolCall,
    Usage,
)
from .tables import SCHEMA_VERSION, TABLES, json_schema

__all__ = [
    "DIRECTIONS",
    "EVIDENCE_MODES",
    "SCHEMA_VERSION",
    "TABLES",
    "UNSEEN",
    "Attempt",
    "Canvas",
    "Diagnostic",
    "Direction",
    "Episode",
    "Evidence",
    "Geometry",
    "Glimpse",
    "Image",
    "InputRow",
    "Note",
    "Point",
    "PredictionRow",
    "Predictor",
    "PredictorInput",
    "Reading",
    "Run",
    "SourceFile",
    "Step",
    "StepText",
    "ToolCall",
    "Usage",
    "json_schema",
    "walk",
]
