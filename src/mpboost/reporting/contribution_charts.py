"""Chart of contributions of features, drawn from the summary of a report."""

from typing import Any

from mpboost.reporting.canvas import Canvas, choose_ticks, format_number

#: Width of the chart, height of a feature, space for the names, and their longest length.
WIDTH, LINE_HEIGHT, NAMES_WIDTH, NAME_LENGTH = 860, 40, 200, 30
#: Height of the crowd of dots of a feature, as a share of its line; radius of a dot.
CROWD, RADIUS = 0.4, 2.6


def draw_contributions(contributions: dict[str, Any], *, is_narrow: bool = False) -> str:
    """Draw a line of dots for each feature, one for each row."""
    features = contributions["features"]
    values = [value for feature in features for value in feature["contributions"]]
    low, high = min([0.0, *values]), max([0.0, *values])
    room = 0.03 * (high - low) or 0.01
    left = 138 if is_narrow else NAMES_WIDTH
    size = (480 if is_narrow else WIDTH, Canvas.BOTTOM + Canvas.TOP + LINE_HEIGHT * len(features))
    canvas = Canvas(
        size, (low - room, high + room), (len(features) - 0.5, -0.5), "contributions of features", left=left
    )
    ticks = choose_ticks(low, high, 4 if is_narrow else 7)
    canvas.add_axes(f"contribution to the {_shorten(contributions['quantity'], 40)}", "", ticks, ())
    for place, feature in enumerate(features):
        y = canvas.y(place)
        canvas.line([(canvas.left, y), (canvas.right, y)], "grid")
        canvas.text(left - 10, y + 4, _shorten(feature["name"], 15 if is_narrow else NAME_LENGTH), "end", "label")
    canvas.line([(canvas.x(0.0), canvas.top), (canvas.x(0.0), canvas.bottom)], "axis zero")
    for place, feature in enumerate(features):
        dots = zip(feature["contributions"], feature["offsets"], feature["colours"], strict=True)
        for value, offset, colour in dots:
            kind = "unknown" if colour is None else str(colour)
            canvas.dot(value, place + CROWD * offset, RADIUS, f"dot value-{kind}")
        half = LINE_HEIGHT / 2
        note = f"{feature['name']}: {format_number(feature['size'])} up or down in the mean"
        canvas.box((0, canvas.y(place) - half), (canvas.right, 2 * half), "strip", note)
    return canvas.svg()


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
