"""Evidence by the million: digits drawn, bent and walked over in compiled code, to train and to calibrate.

What is drawn and seen here equals `traces.world.build_canvas` and `schemas.Geometry` pixel for pixel
(tested); it is written a second time because training needs thousands of panels a second.
"""

from __future__ import annotations

import numba as nb
import numpy as np

PANEL = 224
CELL = 4
GRID = PANEL // CELL
DIGIT = 28

RANDOM, SWEEP, STROKE, GREEDY, EXPECTED, SCATTER, FULL = range(7)
"""Where glimpses come from.

RANDOM: a uniform direction each step; blocked moves stay and count. SWEEP: the runner's.
STROKE: to the side where the window holds most ink. GREEDY: most new ink, clairvoyant. EXPECTED: most new ink
as the average digit has it. SCATTER: windows anywhere, no walk. FULL: everything.
"""

_PRECISION = 22
_THRESHOLD = 200
_MOVES = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)])


def _taps() -> tuple[np.ndarray, np.ndarray]:
    """First source pixel and two fixed-point weights of each output pixel: Pillow's bilinear resize."""
    scale = PANEL // DIGIT
    first = np.empty(PANEL, dtype=np.int64)
    weights = np.zeros((PANEL, 2))
    for x in range(PANEL):
        centre = (x + 0.5) / scale
        low, high = max(int(centre - 0.5), 0), min(int(centre + 1.5), DIGIT)
        taps = np.array([1 - abs(i + 0.5 - centre) for i in range(low, high)])
        first[x] = low
        weights[x, : len(taps)] = taps / taps.sum()
    return first, (weights * (1 << _PRECISION) + 0.5).astype(np.int64)


_FIRST, _WEIGHT = _taps()


@nb.njit(cache=True)
def draw(digit: np.ndarray, ink: np.ndarray) -> None:
    """Draw a uint8 (28, 28) digit, white on black, into `ink`: uint8 (224, 224), 1 at strokes."""
    half = 1 << (_PRECISION - 1)
    wide = np.empty((DIGIT, PANEL), dtype=np.int64)
    for y in range(DIGIT):
        for x in range(PANEL):
            i = _FIRST[x]
            j = min(i + 1, DIGIT - 1)
            total = (255 - digit[y, i]) * _WEIGHT[x, 0] + (255 - digit[y, j]) * _WEIGHT[x, 1]
            wide[y, x] = (total + half) >> _PRECISION
    for y in range(PANEL):
        i = _FIRST[y]
        j = min(i + 1, DIGIT - 1)
        for x in range(PANEL):
            total = wide[i, x] * _WEIGHT[y, 0] + wide[j, x] * _WEIGHT[y, 1]
            ink[y, x] = 1 if ((total + half) >> _PRECISION) <= _THRESHOLD else 0


@nb.njit(cache=True)
def _sample(image: np.ndarray, x: float, y: float) -> float:
    """Bilinear value at a point, 0 outside."""
    i, j = int(np.floor(x)), int(np.floor(y))
    value = 0.0
    for b in range(2):
        for a in range(2):
            if 0 <= i + a < DIGIT and 0 <= j + b < DIGIT:
                value += image[j + b, i + a] * (1 - abs(x - i - a)) * (1 - abs(y - j - b))
    return value


@nb.njit(cache=True)
def perturb(digit: np.ndarray, strength: float) -> np.ndarray:
    """A digit turned, scaled, sheared, shifted and bent a little at random: uint8 (28, 28).

    At strength 1 the spread is 7 degrees, 7 %, 0.07, 0.4 pixels and 0.5 pixels (a field of 6 x 6 knots).
    """
    angle = np.random.normal() * 0.12 * strength
    scale_x, scale_y = (
        np.exp(np.random.normal() * 0.07 * strength),
        np.exp(np.random.normal() * 0.07 * strength),
    )
    shear = np.random.normal() * 0.07 * strength
    shift_x, shift_y = np.random.normal() * 0.4 * strength, np.random.normal() * 0.4 * strength
    bend = np.random.normal(0.0, 1.0, (2, 6, 6)) * 0.5 * strength
    out = np.empty((DIGIT, DIGIT), dtype=np.uint8)
    middle = (DIGIT - 1) / 2
    cos, sin = np.cos(angle), np.sin(angle)
    for y in range(DIGIT):
        for x in range(DIGIT):
            v = (y - middle) * scale_y
            u = (x - middle) * scale_x + shear * v
            across, down = x * 5.0 / DIGIT, y * 5.0 / DIGIT
            i, j = int(across), int(down)
            a, b = across - i, down - j
            field = (1 - b) * ((1 - a) * bend[:, j, i] + a * bend[:, j, i + 1]) + b * (
                (1 - a) * bend[:, j + 1, i] + a * bend[:, j + 1, i + 1]
            )
            at_x = middle + cos * u - sin * v + shift_x + field[0]
            at_y = middle + sin * u + cos * v + shift_y + field[1]
            out[y, x] = np.uint8(min(255.0, _sample(digit, at_x, at_y) + 0.5))
    return out


@nb.njit(cache=True)
def _stroke_score(ink: np.ndarray, x: int, y: int, w: int, dx: int, dy: int) -> float:
    """Ink in the quarter of the window that faces the direction."""
    strip = max(1, w // 4)
    x0 = x + (w - strip if dx > 0 else 0)
    y0 = y + (w - strip if dy > 0 else 0)
    return ink[y0 : y0 + (strip if dy else w), x0 : x0 + (strip if dx else w)].sum()


@nb.njit(cache=True)
def _new(values: np.ndarray, seen: np.ndarray, x: int, y: int, w: int) -> float:
    """Sum of `values` over the unseen pixels of a window, every fourth row and column of them."""
    total = 0.0
    for j in range(y, y + w, 4):
        for i in range(x, x + w, 4):
            if not seen[j, i]:
                total += values[j, i]
    return total


@nb.njit(cache=True)
def _score(
    policy: int,
    ink: np.ndarray,
    prior: np.ndarray,
    seen: np.ndarray,
    x: int,
    y: int,
    w: int,
    nx: int,
    ny: int,
    dx: int,
    dy: int,
) -> float:
    """How much a policy wants the window at (nx, ny), reached from (x, y)."""
    if policy == RANDOM:
        return 0.0
    if nx == x and ny == y:
        return -1.0
    if policy == GREEDY:
        return _new(ink, seen, nx, ny, w)
    if policy == EXPECTED:
        return _new(prior, seen, nx, ny, w)
    fresh = not seen[ny + w // 2, nx + w // 2]
    return _stroke_score(ink, x, y, w, dx, dy) * (1.0 if fresh else 0.2)


@nb.njit(cache=True)
def _choose(
    policy: int,
    slip: float,
    ink: np.ndarray,
    prior: np.ndarray,
    seen: np.ndarray,
    x: int,
    y: int,
    w: int,
    s: int,
) -> tuple[int, int]:
    """The next position of a policy that looks one step ahead; a random one with probability `slip`."""
    x_max, y_max = seen.shape[1] - w, seen.shape[0] - w
    if np.random.random() < slip:
        policy = RANDOM
    best, best_x, best_y = -2.0, x, y
    for d in range(4):
        dx, dy = _MOVES[d, 0], _MOVES[d, 1]
        nx, ny = min(max(x + dx * s, 0), x_max), min(max(y + dy * s, 0), y_max)
        score = _score(policy, ink, prior, seen, x, y, w, nx, ny, dx, dy) + np.random.random() * 1e-3
        if score > best:
            best, best_x, best_y = score, nx, ny
    return best_x, best_y


@nb.njit(cache=True)
def _sweep(x: int, y: int, w: int, s: int, x_max: int, y_max: int, k: int) -> np.ndarray:
    """Positions (k, 2) of the runner's sweep: to the nearest corner, then columns a window apart."""
    path = np.empty((k, 2), dtype=np.int64)
    side, upright = -1 if 2 * x <= x_max else 1, -1 if 2 * y <= y_max else 1
    phase, shifts = 0, 0
    for t in range(k):
        path[t] = x, y
        if phase == 0 and x == (0 if side < 0 else x_max):
            phase, side = 1, -side
        if phase == 1 and y == (0 if upright < 0 else y_max):
            phase, upright = 2, -upright
        if phase == 2 and shifts == 0 and y == (0 if upright < 0 else y_max):
            upright, shifts = -upright, max(1, w // s)
        if phase == 0 or shifts:
            x = min(max(x + side * s, 0), x_max)
            shifts = max(0, shifts - 1)
        else:
            y = min(max(y + upright * s, 0), y_max)
    return path


@nb.njit(cache=True)
def look(
    ink: np.ndarray,
    prior: np.ndarray,
    seen: np.ndarray,
    x: int,
    y: int,
    w: int,
    s: int,
    policy: int,
    slip: float,
    k: int,
    border: bool,
) -> None:
    """Mark in `seen` what `k` glimpses from (x, y) show.

    Args:
        ink: uint8 (224, 224 * n), 1 at strokes.
        prior: float (224, 224 * n), how likely a stroke is at each pixel.
        seen: bool, same shape, changed in place.
        x: left edge of the first window, in pixels.
        y: top edge of the first window.
        w: window side.
        s: stride.
        policy: one of the constants above.
        slip: probability of a random move instead of the policy's.
        k: number of glimpses, the first included.
        border: whether the outline hides the window's rim (`visible_exact`).
    """
    if policy == FULL:
        seen[:] = True
        return
    before, after = (2, 1) if border else (0, 0)
    x_max, y_max = seen.shape[1] - w, seen.shape[0] - w
    path = _sweep(x, y, w, s, x_max, y_max, k)
    for t in range(k):
        if t and policy == SCATTER:
            x, y = np.random.randint(x_max + 1), np.random.randint(y_max + 1)
        elif t and policy == SWEEP:
            x, y = path[t]
        elif t:
            x, y = _choose(policy, slip, ink, prior, seen, x, y, w, s)
        seen[y + before : y + w - after, x + before : x + w - after] = True


@nb.njit(cache=True)
def start(ink: np.ndarray, w: int, anywhere: bool) -> tuple[int, int]:
    """A first window centred on a random stroke pixel, clamped to the canvas; or `anywhere`."""
    x_max, y_max = ink.shape[1] - w, ink.shape[0] - w
    if anywhere or ink.sum() == 0:
        return np.random.randint(x_max + 1), np.random.randint(y_max + 1)
    while True:
        x, y = np.random.randint(ink.shape[1]), np.random.randint(ink.shape[0])
        if ink[y, x]:
            return min(max(x - w // 2, 0), x_max), min(max(y - w // 2, 0), y_max)


@nb.njit(cache=True)
def cells(ink: np.ndarray, seen: np.ndarray, out: np.ndarray) -> int:
    """Features of one panel into `out`, uint8 (8, 28, 28), as `features.cells` has them.

    Returns the number of ink pixels seen.
    """
    out[:] = 0
    total = 0
    for y in range(PANEL):
        half, row = (y // CELL) % 2, y // (2 * CELL)
        for i in range(GRID):
            n_seen, n_ink = 0, 0
            for x in range(i * CELL, (i + 1) * CELL):
                n_seen += seen[y, x]
                n_ink += seen[y, x] & ink[y, x]
            c = half * 2 + i % 2
            out[c, row, i // 2] += n_ink
            out[4 + c, row, i // 2] += n_seen
            total += n_ink
    return total


@nb.njit(cache=True)
def _geometry() -> tuple[int, int, int]:
    """Panels, window and stride of an episode: mostly the published ones."""
    n = 1 + (np.random.random() < 0.2) + (np.random.random() < 0.05)
    u = np.random.random()
    if u < 0.80:
        return n, 64, 32
    if u < 0.87:
        return n, 32, 16
    if u < 0.93:
        return n, 128, 64
    w = np.random.randint(24, 161)
    return n, w, np.random.randint(max(8, w // 4), w + 1)


@nb.njit(cache=True)
def _policy() -> tuple[int, float]:
    """Policy and slip of an episode: half of them random walks."""
    shares = np.array([0.54, 0.09, 0.10, 0.09, 0.09, 0.04, 0.05])
    policy = np.searchsorted(np.cumsum(shares), np.random.random() * 0.999999)
    return int(policy), (0.0, 0.1, 0.4)[np.random.randint(3)]


@nb.njit(cache=True)
def _glimpses(n: int, w: int, s: int, skew: float) -> int:
    """How many glimpses: 1 to the budget, few more often than many where `skew` is above 1."""
    across, down = -(-max(0, PANEL * n - w) // s) + 1, -(-(PANEL - w) // s) + 1
    return 1 + int(across * down * np.random.random() ** skew)


@nb.njit(cache=True, nogil=True)
def batch(
    digits: np.ndarray,
    labels: np.ndarray,
    prior: np.ndarray,
    size: int,
    strength: float,
    skew: float,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Panels of random episodes: digits, geometry, policy, length and evidence mode; two walks a canvas.

    Args:
        digits: uint8 (m, 28, 28).
        labels: int64 (m,).
        prior: float32 (224, 224), share of digits with a stroke at each pixel.
        size: panels wanted; those that saw no ink are left out.
        strength: of `perturb`; 0 leaves the digits alone.
        skew: 1 spreads the number of glimpses evenly from 1 to the budget, 2 makes few more likely.
        seed: of everything random here.

    Returns:
        uint8 features (size, 8, 28, 28) and int64 labels (size,).
    """
    np.random.seed(seed)
    features = np.empty((size, 8, PANEL // 8, PANEL // 8), dtype=np.uint8)
    answers = np.empty(size, dtype=np.int64)
    wide_prior = np.hstack((prior, prior, prior))
    ink = np.empty((PANEL, PANEL * 3), dtype=np.uint8)
    at = 0
    while at < size:
        n, w, s = _geometry()
        chosen = np.random.randint(0, len(digits), n)
        for p in range(n):
            digit = digits[chosen[p]]
            bent = perturb(digit, strength) if strength > 0 and np.random.random() < 0.5 else digit
            draw(bent, ink[:, p * PANEL : (p + 1) * PANEL])
        canvas = ink[:, : n * PANEL]
        for _ in range(2):
            seen = np.zeros((PANEL, PANEL * n), dtype=np.bool_)
            x, y = start(canvas, w, np.random.random() < 0.05)
            policy, slip = _policy()
            border = np.random.random() < 0.35
            look(canvas, wide_prior, seen, x, y, w, s, policy, slip, _glimpses(n, w, s, skew), border)
            for p in range(n):
                part = slice(p * PANEL, (p + 1) * PANEL)
                if at < size and cells(canvas[:, part], seen[:, part], features[at]):
                    answers[at] = labels[chosen[p]]
                    at += 1
    return features, answers


def mean_ink(digits: np.ndarray) -> np.ndarray:
    """Share of digits, uint8 (m, 28, 28), that have a stroke at each pixel: float32 (224, 224)."""
    total = np.zeros((PANEL, PANEL), dtype=np.float32)
    ink = np.empty((PANEL, PANEL), dtype=np.uint8)
    for digit in digits:
        draw(digit, ink)
        total += ink
    return total / len(digits)
