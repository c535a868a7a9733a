"""Draw SVG charts: scales, ticks and marks. Colours come from the style sheet, by class."""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

Range = tuple[float, float]
Map = Callable[[float], float]

#: Signs for a missing value and for minus, each as wide as a digit.
MISSING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
#: Scales of an axis.
SCALES: dict[str, Map] = {"linear": float, "log": math.log10, "sqrt": math.sqrt}


def format_number(value: Any, digits: int = 3) -> str:
    """Format a number for readers: significant digits, separators of thousands, an exponent only if needed.

    Examples
    --------
    >>> [format_number(value) for value in (0.12345, 12345.678, 20, 1e-7, -0.5, None, 3.0, "x")]
    ['0.123', '12,346', '20', '1e-07', '−0.5', '–', '3', 'x']
    """
    if value is None:
        return MISSING
    if isinstance(value, str | bool):
        return str(value)
    is_whole = isinstance(value, int) or abs(value) >= 10 ** (digits - 1)
    text = f"{value:,.0f}" if is_whole else f"{value:.{digits}g}"
    return MINUS + text[1:] if text.startswith("-") else text


def choose_ticks(low: float, high: float, n_ticks: int = 6) -> list[float]:
    """Choose round numbers in a range.

    Examples
    --------
    >>> choose_ticks(0, 1), choose_ticks(13, 96, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [20.0, 40.0, 60.0, 80.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / n_ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= 0.85 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def choose_sqrt_ticks(most: float) -> list[float]:
    """Choose round numbers up to a maximum that do not overlap on a square-root axis.

    Examples
    --------
    >>> choose_sqrt_ticks(150), choose_sqrt_ticks(7000)
    ([0.0, 20.0, 50.0, 100.0], [0.0, 500.0, 2000.0, 5000.0])
    """
    ticks: list[float] = []
    for power in range(math.floor(math.log10(most)), -1, -1):
        for tick in (factor * 10.0**power for factor in (5, 2, 1)):
            if tick <= most and math.sqrt(tick) <= math.sqrt(ticks[-1] if ticks else 2 * most) - 0.19 * math.sqrt(most):
                ticks.append(tick)
    return [0.0, *reversed([tick for tick in ticks if math.sqrt(tick) >= 0.15 * math.sqrt(most)])]


def choose_log_ticks(low: float, high: float) -> list[float]:
    """Choose powers of ten in a range and, if there are few, their multiples by 2 and 5.

    Examples
    --------
    >>> choose_log_ticks(0.05, 200), choose_log_ticks(2, 30)
    ([0.1, 1.0, 10.0, 100.0], [2.0, 5.0, 10.0, 20.0])
    """
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    factors = (1.0,) if sum(low <= power <= high for power in powers) > 2 else (1.0, 2.0, 5.0)
    ticks = [power * factor for power in powers for factor in factors if low <= power * factor <= high]
    step = -(-len(ticks) // 6)
    return ticks[::step] if step else ticks


class Canvas:
    """A chart with two axes.

    Parameters
    ----------
    size : (int, int)
        Width and height.
    x_range, y_range : (float, float)
        Ranges of the axes.
    title : str
        Description for screen readers.
    x_scale, y_scale : {"linear", "log", "sqrt"}, default="linear"
        Scales of the axes.
    left : int, default=52
        Space for the labels of the vertical axis.
    """

    TOP, RIGHT, BOTTOM = 26, 14, 40

    def __init__(
        self,
        size: tuple[int, int],
        x_range: Range,
        y_range: Range,
        title: str,
        *,
        x_scale: str = "linear",
        y_scale: str = "linear",
        left: int = 52,
    ):
        self.width, self.height = size
        self.left, self.right = left, self.width - self.RIGHT
        self.top, self.bottom = self.TOP, self.height - self.BOTTOM
        self.x = _make_map(x_range, (self.left, self.right), SCALES[x_scale])
        self.y = _make_map(y_range, (self.bottom, self.top), SCALES[y_scale])
        self._title = title
        self._parts: list[str] = []

    def svg(self) -> str:
        """Return the chart as SVG."""
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" style="max-width:{self.width}px" role="img" '
            f'aria-label="{escape(self._title)}">{"".join(self._parts)}</svg>'
        )

    def add_axes(
        self,
        x_label: str,
        y_label: str,
        x_ticks: Iterable[float],
        y_ticks: Iterable[float],
        write: Callable[[Any], str] = format_number,
    ) -> None:
        """Draw horizontal grid lines, and the tick labels and names of both axes."""
        for tick in y_ticks:
            self.line([(self.left, self.y(tick)), (self.right, self.y(tick))], "grid")
            self.text(self.left - 8, self.y(tick) + 4, write(tick), "end")
        self.line([(self.left, self.bottom), (self.right, self.bottom)], "axis")
        for tick in x_ticks:
            self.line([(self.x(tick), self.bottom), (self.x(tick), self.bottom + 4)], "axis")
            self.text(self.x(tick), self.bottom + 17, write(tick), "middle")
        self.text((self.left + self.right) / 2, self.height - 6, x_label, "middle", "label")
        self.text(4, 13, y_label, "start", "label")

    def line(self, points: Sequence[tuple[float, float]], kind: str, note: str = "") -> None:
        """Draw a line through points, in pixels; the note is shown on hover."""
        path = " ".join(f"{_place(x)},{_place(y)}" for x, y in points)
        self._parts.append(f'<polyline class="{kind}" points="{path}">{_annotate(note)}</polyline>')

    def curve(self, xs: Iterable[float], ys: Iterable[float | None], kind: str, note: str = "") -> None:
        """Draw a line through data points; a part that lies below the chart at the start is cut off."""
        points = [(self.x(x), self.y(y)) for x, y in zip(xs, ys, strict=True) if y is not None]
        first = max((k for k, (_, y) in enumerate(points) if y > self.bottom), default=-1)
        if 0 <= first < len(points) - 1:
            (x0, y0), (x1, y1) = points[first : first + 2]
            points[first] = x0 + (x1 - x0) * (y0 - self.bottom) / (y0 - y1), self.bottom
        self.line(points[max(first, 0) :], f"curve {kind}", note)

    def text(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> None:
        """Write text at a point, in pixels."""
        self._parts.append(
            f'<text x="{_place(x)}" y="{_place(y)}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'
        )

    def dot(self, x: float, y: float, radius: float, kind: str, note: str = "") -> None:
        """Draw a dot at a data point; the note is shown on hover."""
        self._parts.append(
            f'<circle cx="{_place(self.x(x))}" cy="{_place(self.y(y))}" r="{radius:g}" class="{kind}">'
            f"{_annotate(note)}</circle>"
        )

    def box(
        self, corner: tuple[float, float], size: tuple[float, float], kind: str, note: str = "", opacity: Any = None
    ) -> None:
        """Draw a box, in pixels, from its upper left corner."""
        (x, y), (width, height) = corner, size
        shade = "" if opacity is None else f' fill-opacity="{opacity:.3g}"'
        self._parts.append(
            f'<rect x="{_place(x)}" y="{_place(y)}" width="{_place(max(width, 0))}" height="{_place(max(height, 0))}" '
            f'class="{kind}"{shade}>{_annotate(note)}</rect>'
        )


def _annotate(note: str) -> str:
    return f"<title>{escape(note)}</title>" if note else ""


def _place(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _make_map(source: Range, target: Range, scale: Map) -> Map:
    low, high = scale(source[0]), scale(source[1])
    width = (high - low) or 1.0

    def place(value: float) -> float:
        return target[0] + (scale(value) - low) / width * (target[1] - target[0])

    return place
