"""An episode as a picture (PNG) or a moving one (GIF), drawn with Pillow, or as a player (HTML)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ..schemas import Episode, Geometry, Point, Run
from ..traces.store import Store, StoreError, geometry_of
from .layout import XY, Layout, lay_out
from .player_html import page

# Cividis: readable for colour-blind eyes, and still ordered when printed grey.
_RAMP = ((0, 34, 78), (53, 69, 109), (102, 105, 112), (148, 142, 119), (200, 183, 103), (254, 232, 56))
_PAPER, _INK, _FAINT = (255, 255, 255), (24, 28, 36), (92, 100, 112)
_UNSEEN, _UNSEEN_INK = (216, 220, 227), (174, 181, 192)
_START, _END = (20, 120, 70), (196, 40, 40)
_FRAME_MS = 450
_MAX_WIDTH, _MARGIN, _LINE = 900, 16, 20


class Caption(NamedTuple):
    """A line under the picture: what, and what it says."""

    name: str
    text: str


def still(store: Store, run: Run, episode: Episode, readings: Sequence[Caption] = ()) -> bytes:
    """The episode's path over its canvas as PNG.

    Raises:
        StoreError: where canvas, geometry or windows are unknown.
    """
    canvas, windows, geometry = _scene(store, run, episode)
    picture = draw(canvas, windows, geometry, _captions(run, episode, readings))
    return _encode(picture)


def moving(store: Store, run: Run, episode: Episode, readings: Sequence[Caption] = ()) -> bytes:
    """The same, growing glimpse by glimpse, as an animated GIF that ends on a longer last frame."""
    canvas, windows, geometry = _scene(store, run, episode)
    captions = _captions(run, episode, readings)
    frames = [
        draw(canvas, windows[: n + 1], geometry, captions, of=len(windows)) for n in range(len(windows))
    ]
    paletted = [frame.quantize(64) for frame in frames]
    buffer = io.BytesIO()
    durations = [_FRAME_MS] * (len(frames) - 1) + [4 * _FRAME_MS]
    paletted[0].save(buffer, "GIF", save_all=True, append_images=paletted[1:], duration=durations, loop=0)
    return buffer.getvalue()


def write(store: Store, run: str, source_id: str, out: Path, tracks: dict[str, Any] | None = None) -> None:
    """Write one episode; the file's ending chooses PNG, GIF or HTML.

    Args:
        store: where the episode is.
        run: name of its run.
        source_id: its `source_episode_id`.
        out: file to write.
        tracks: what the HTML player shows beside the path, as `analysis.tracks.tracks` gives it.

    Raises:
        ValueError: for another ending.
        StoreError: where the episode cannot be drawn (a player shows what is there).
    """
    kinds = {".png": still, ".gif": moving, ".html": partial(page, tracks=tracks)}
    if out.suffix.lower() not in kinds:
        raise ValueError(f"{out.name}: the ending must be one of {', '.join(kinds)}")
    episode = store.episodes(run, [source_id], texts=True)[0]
    out.write_bytes(kinds[out.suffix.lower()](store, store.run(run), episode))


def _scene(store: Store, run: Run, episode: Episode) -> tuple[np.ndarray, list[Point], Geometry]:
    windows = episode.windows()
    where = f"{run.run}#{episode.source_episode_id}"
    if windows is None:
        raise StoreError(f"{where}: the windows of this episode are not known")
    canvases = store.canvases([episode.canvas] if episode.canvas else [])
    if not canvases:
        raise StoreError(f"{where}: the canvas of this episode is not known")
    return canvases[episode.canvas or ""], windows, geometry_of(run)


def _captions(run: Run, episode: Episode, readings: Sequence[Caption]) -> list[Caption]:
    verdict = {True: "right", False: "wrong", None: "not judged"}[episode.correct]
    answer = "no answer" if episode.answer is None else f"answered {episode.answer}, {verdict}"
    ended = episode.error or episode.stop_reason
    head = Caption(f"{run.run} #{episode.source_episode_id}", f"label {episode.label}: {answer} ({ended})")
    return [head, *readings]


def draw(
    canvas: np.ndarray,
    windows: Sequence[Point],
    geometry: Geometry,
    captions: Sequence[Caption],
    *,
    of: int | None = None,
) -> Image.Image:
    """Draw the path over the canvas: seen pixels clear, unseen ones dimmed, dots coloured by glimpse.

    Args:
        canvas: uint8 (H, W).
        windows: windows of the shown glimpses, in order.
        geometry: the run's.
        captions: lines below the picture.
        of: number of glimpses that the colours span, where more will follow.
    """
    scale = max(1, round(_MAX_WIDTH / canvas.shape[1])) if canvas.shape[1] < _MAX_WIDTH / 2 else 2
    width, height = canvas.shape[1] * scale, canvas.shape[0] * scale
    below = _LINE * (len(captions) + 2) + _MARGIN
    sheet = Image.new("RGB", (width + 2 * _MARGIN, height + 2 * _MARGIN + below), _PAPER)
    sheet.paste(
        _ground(canvas, geometry.seen(windows)).resize((width, height), Image.Resampling.NEAREST),
        (_MARGIN, _MARGIN),
    )
    pen = ImageDraw.Draw(sheet)
    _draw_panels(pen, geometry, scale)
    _draw_window(pen, windows[-1], geometry, scale)
    _draw_path(pen, lay_out(windows, geometry), scale, of or len(windows))
    _draw_captions(pen, captions, height + 2 * _MARGIN, sheet.width, f"{len(windows)} glimpses shown")
    return sheet


def _ground(canvas: np.ndarray, seen: np.ndarray) -> Image.Image:
    ink = canvas == 0
    colors = np.where(ink[..., None], np.array(_UNSEEN_INK), np.array(_UNSEEN))
    colors[seen] = np.where(ink[seen][:, None], np.array(_INK), np.array(_PAPER))
    return Image.fromarray(colors.astype(np.uint8))


def _at(point: XY, scale: int) -> XY:
    return _MARGIN + point[0] * scale, _MARGIN + point[1] * scale


def _draw_panels(pen: ImageDraw.ImageDraw, geometry: Geometry, scale: int) -> None:
    for panel in range(1, geometry.n_panels):
        x, y = _at((panel * geometry.panel, 0), scale)
        for dash in range(0, geometry.height * scale, 10):
            pen.line((x, y + dash, x, y + dash + 5), fill=_FAINT)
    pen.rectangle((*_at((0, 0), scale), *_at((geometry.width, geometry.height), scale)), outline=_FAINT)


def _draw_window(pen: ImageDraw.ImageDraw, window: Point, geometry: Geometry, scale: int) -> None:
    x0, y0, x1, y1 = geometry.box(window)
    pen.rectangle((*_at((x0, y0), scale), *_at((x1, y1), scale)), outline=(0, 160, 190), width=3)


def _draw_path(pen: ImageDraw.ImageDraw, layout: Layout, scale: int, of: int) -> None:
    for segment in layout.segments:
        start, end = _at(segment.start, scale), _at(segment.end, scale)
        pen.line((*start, *end), fill=_PAPER, width=7)
        pen.line((*start, *end), fill=_color(segment.glimpse, of), width=4)
        _arrow(pen, start, end, _color(segment.glimpse, of))
    for ring in layout.rings:
        x, y = _at(ring.center, scale)
        pen.ellipse((x - 15, y - 15, x + 15, y + 15), outline=_END, width=2)
        _text(pen, (x - 38, y + 6), f"x{ring.count}", 13, _END)
    last = len(layout.centers) - 1
    for glimpse, center in enumerate(layout.centers):
        x, y = _at(center, scale)
        pen.ellipse((x - 5, y - 5, x + 5, y + 5), fill=_color(glimpse, of), outline=_PAPER)
    for glimpse in sorted({0, last, *range(0, last, 5)}):
        _number(pen, _at(layout.centers[glimpse], scale), glimpse, last)


def _number(pen: ImageDraw.ImageDraw, at: XY, glimpse: int, last: int) -> None:
    x, y = at
    if glimpse == 0:
        pen.ellipse((x - 9, y - 9, x + 9, y + 9), outline=_START, width=3)
    if glimpse == last:
        pen.rectangle((x - 9, y - 9, x + 9, y + 9), outline=_END, width=3)
    # The last number stands below its dot, so that it does not cover another one at the same place.
    _text(pen, (x + 11, y + 4) if glimpse == last else (x + 11, y - 20), str(glimpse), 15, _INK)


def _arrow(pen: ImageDraw.ImageDraw, start: XY, end: XY, color: tuple[int, int, int]) -> None:
    (x0, y0), (x1, y1) = start, end
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1.0)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    x, y = (x0 + x1) / 2 + 6 * ux, (y0 + y1) / 2 + 6 * uy
    back = (x - 12 * ux, y - 12 * uy)
    wings = [(back[0] - 6 * uy, back[1] + 6 * ux), (back[0] + 6 * uy, back[1] - 6 * ux)]
    pen.polygon([(x, y), *wings], fill=color, outline=_PAPER)


def _color(glimpse: int, of: int) -> tuple[int, int, int]:
    position = glimpse / max(of - 1, 1) * (len(_RAMP) - 1)
    low = min(int(position), len(_RAMP) - 2)
    share = position - low
    return tuple(round(a + (b - a) * share) for a, b in zip(_RAMP[low], _RAMP[low + 1], strict=True))  # type: ignore[return-value]


def _text(pen: ImageDraw.ImageDraw, at: XY, text: str, size: int, color: tuple[int, int, int]) -> None:
    pen.text(at, text, fill=color, font=ImageFont.load_default(size), stroke_width=2, stroke_fill=_PAPER)


def _draw_captions(
    pen: ImageDraw.ImageDraw, captions: Sequence[Caption], top: int, width: int, count: str
) -> None:
    legend = (
        f"{count}; circle: start, square: end, dark to bright; ring xN: N blocked moves; grey: never shown"
    )
    font = ImageFont.load_default(14)
    y = top
    for name, text in (*captions, Caption("", legend)):
        line = f"{name}  {text}" if name else text
        while pen.textlength(line, font=font) > width - 2 * _MARGIN and len(line) > 8:
            line = line[: len(line) - 8] + "…"
        pen.text((_MARGIN, y), line, fill=_INK if name else _FAINT, font=font)
        y += _LINE


def _encode(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
