"""One run folder while it is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from ....schemas import Diagnostic, Geometry, Run
from ...world.digits import Digits
from ..bundle import Bundle


@dataclass
class Folder:
    """The folder, what is known of its run, and what was found wrong so far.

    Args:
        bundle: its files.
        digits: used to rebuild canvases from digit indices.
        run: the run; `draw_border` is learned from pictures where no file says it.
        geometry: the run's geometry, where known.
        files: names below each episode's folder, by source id.
        summary: the summary's entries, by source id.
        problems: diagnostics so far.
        images: pictures of the episode that is being read, by sha256.
    """

    bundle: Bundle
    digits: Digits
    run: Run
    geometry: Geometry | None
    files: dict[str, list[str]]
    summary: dict[str, dict[str, Any]]
    problems: list[Diagnostic] = field(default_factory=list)
    images: dict[str, bytes] = field(default_factory=dict)

    def image(self, path: str) -> str | None:
        """Read a picture; its sha256, or None and a diagnostic."""
        try:
            data = self.bundle.read(path)
        except OSError as error:
            self.problems.append(Diagnostic(code="image_missing", message=str(error), path=path))
            return None
        if not data.startswith(b"\x89PNG"):
            code = "image_unreadable" if data else "empty_file"
            self.problems.append(Diagnostic(code=code, message="not a PNG file", path=path))
            return None
        digest = hashlib.sha256(data).hexdigest()
        self.images[digest] = data
        return digest
