"""Charts of the effects of features, drawn from the summary of a report."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from mpboost.reporting.canvas import (
    SCALES,
    Canvas,
    Range,
    choose_log_ticks,
    choose_sqrt_ticks,
    choose_ticks,
    format_number,
)

#: Width and height of a chart.
SIZE = (330, 236)
#: Space for the labels at the left: of predictions, and of categories, whose names are cut to a length.
LEFT, NAMES_WIDTH, NAME_LENGTH = 40, 104, 14
#: Height of the largest bar of rows, and of the space for bars below the curves, in pixels.
BAR_HEIGHT, BARS_HEIGHT = 16, 20
#: Space for missing values at the right, as a share of the axis.
MISSING_ROOM = 0.16
#: Up to so many points are marked.
N_MARKED = 12


def draw_effect(effect: dict[str, Any], bounds: Sequence[float]) -> str:
    """Draw the effect of a feature; all charts of a report have the same bounds of predictions."""
    low, high = bounds
    room = 0.05 * (high - low) or 0.01
    draw = _draw_categories if effect["kind"] == "category" else _draw_numbers
    return draw(effect, (low - room, high + room))


def _draw_numbers(effect: dict[str, Any], bounds: Range) -> str:
    """Draw curves over values, a band for how rows differ, and bars for where the rows are."""
    values, shares, curves, scale = effect["numbers"], effect["shares"], effect["curves"], effect["scale"]
    drawn = [k for k, value in enumerate(values) if value is not None]
    x, has_missing = [values[k] for k in drawn] or [0.0], effect["values"][-1] is None
    low, high = bounds
    n_pixels = SIZE[1] - Canvas.TOP - Canvas.BOTTOM
    floor = low - (high - low) * BARS_HEIGHT / (n_pixels - BARS_HEIGHT)
    x_range = _widen(x[0], x[-1], scale, MISSING_ROOM if has_missing else 0.0)
    canvas = Canvas(SIZE, x_range, (floor, high), f"effect of {effect['name']}", x_scale=scale, left=LEFT)
    canvas.add_axes("", _name_axis(effect), _choose_ticks(x, scale), choose_ticks(low, high, 5), _write_tick)
    if len(curves) == 1:
        upper = [(canvas.x(values[k]), canvas.y(curves[0]["high"][k])) for k in drawn]
        lower = [(canvas.x(values[k]), canvas.y(curves[0]["low"][k])) for k in drawn]
        canvas.line([*upper, *reversed(lower)], "band")
    for k in drawn:
        height = BAR_HEIGHT * math.sqrt(shares[k] / max(shares))  # roots: few rows are visible beside many
        canvas.box((canvas.x(values[k]) - 1, canvas.bottom - height), (2, height), "rows")
    for number, curve in enumerate(curves):
        canvas.curve([values[k] for k in drawn], [curve["means"][k] for k in drawn], f"class-{number}")
        if len(drawn) <= N_MARKED:
            for k in drawn:
                canvas.dot(values[k], curve["means"][k], 2.8, f"dot class-{number}")
    centres = [canvas.x(values[k]) for k in drawn]
    if has_missing:
        _draw_missing(canvas, effect)
        centres.append(canvas.right - 10)
    _add_notes(canvas, effect, [*drawn, len(values) - 1] if has_missing else drawn, centres)
    return canvas.svg()


def _draw_missing(canvas: Canvas, effect: dict[str, Any]) -> None:
    """Draw missing values, the last point, at the right end."""
    x = canvas.right - 10
    curves = effect["curves"]
    if len(curves) == 1:
        canvas.line([(x, canvas.y(curves[0]["low"][-1])), (x, canvas.y(curves[0]["high"][-1]))], "spread")
    for number, curve in enumerate(curves):
        canvas.box((x - 3.5, canvas.y(curve["means"][-1]) - 3.5), (7, 7), f"dot class-{number}")
    height = BAR_HEIGHT * math.sqrt(effect["shares"][-1] / max(effect["shares"]))
    canvas.box((x - 1, canvas.bottom - height), (2, height), "rows")
    canvas.text(canvas.right + 12, canvas.bottom + 32, "missing", "end")


def _add_notes(canvas: Canvas, effect: dict[str, Any], points: Sequence[int], centres: Sequence[float]) -> None:
    """Add an area for each point that shows its numbers on hover; neighbours meet half-way."""
    if not centres:
        return
    bounds = [canvas.left, *((a + b) / 2 for a, b in pairwise(centres)), canvas.right + 8]
    for k, (start, end) in zip(points, pairwise(bounds), strict=True):
        canvas.box((start, canvas.top), (end - start, canvas.bottom - canvas.top), "strip", _write_note(effect, k))


def _draw_categories(effect: dict[str, Any], bounds: Range) -> str:
    """Draw dots for the categories, the highest at the top; larger dots have more rows."""
    values, shares, curves = effect["values"], effect["shares"], effect["curves"]
    ranked = sorted(range(len(values)), key=lambda k: -curves[0]["means"][k])
    canvas = Canvas(SIZE, bounds, (len(values) - 0.5, -0.5), f"effect of {effect['name']}", left=NAMES_WIDTH)
    canvas.add_axes(_name_axis(effect), "", choose_ticks(*bounds, 4), (), _write_tick)
    for place, k in enumerate(ranked):
        y = canvas.y(place)
        name = "missing" if values[k] is None else format_number(values[k])
        canvas.text(NAMES_WIDTH - 8, y + 4, name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…", "end")
        canvas.line([(canvas.left, y), (canvas.right, y)], "grid")
        if len(curves) == 1:
            canvas.line([(canvas.x(curves[0][side][k]), y) for side in ("low", "high")], "spread")
        for number, curve in enumerate(curves):
            canvas.dot(curve["means"][k], place, 2.5 + 3.5 * math.sqrt(shares[k] / max(shares)), f"dot class-{number}")
        half = (canvas.y(1) - canvas.y(0)) / 2
        canvas.box((0, y - half), (canvas.right, 2 * half), "strip", _write_note(effect, k))
    return canvas.svg()


def _name_axis(effect: dict[str, Any]) -> str:
    quantity = effect["curves"][0]["quantity"] if len(effect["curves"]) == 1 else "probability"
    return quantity if len(quantity) <= 36 else quantity[:35] + "…"


def _write_note(effect: dict[str, Any], point: int) -> str:
    value = effect["values"][point]
    lines = ["missing" if value is None else f"{effect['name']}: {format_number(value, 4)}"]
    lines += [f"{curve['quantity']}: {format_number(curve['means'][point])}" for curve in effect["curves"]]
    return "\n".join([*lines, f"{100 * effect['shares'][point]:.2g} % of the rows"])


def _widen(low: float, high: float, scale: str, share: float) -> Range:
    """Make room at the upper end of an axis; a range of one value gets some at both ends."""
    if low == high:
        return low - 0.5, high + 0.5
    start, end = SCALES[scale](low), SCALES[scale](high)
    wider = end + share * (end - start)
    return low, {"linear": wider, "log": 10.0 ** min(wider, 300.0), "sqrt": wider**2}[scale]


def _choose_ticks(x: Sequence[float], scale: str) -> list[float]:
    if len(x) <= 3:
        return list(x)
    if scale == "log":
        ticks = choose_log_ticks(x[0], x[-1])
        return ticks[:: -(-len(ticks) // 4)]
    if scale == "sqrt" and x[-1] >= 2:
        return choose_sqrt_ticks(x[-1])
    return choose_ticks(x[0], x[-1], 4)


def _write_tick(value: Any) -> str:
    """Write a tick in little space.

    Examples
    --------
    >>> [_write_tick(value) for value in (0.25, 1500, 20_000, 3_000_000)]
    ['0.25', '1,500', '20k', '3M']
    """
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if 10_000 <= abs(value) < 1e15 and abs(value) >= unit:
            return format_number(value / unit) + letter
    return format_number(value)
