"""The pictures of docs/limits.md."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks.common.results import Row

STYLES = {
    "votes": ("tab:blue", "-"),
    "votes, uniform p": ("tab:cyan", "--"),
    "votes, uniform p, no stopping": ("tab:green", "--"),
    "votes, uniform p and q, no stopping": ("0.5", ":"),
    "votes, uniform p and q, no stopping, sizes given": ("black", ":"),
    "votes, PAPER": ("tab:orange", "-"),
    "votes, PAPER, uniform p": ("tab:olive", "--"),
    "gradient": ("tab:red", "-"),
}


def draw_noise(rows: Sequence[Row]) -> Figure:
    """Draw the gap of scores, and the coverage of sets, by the share of wrong labels."""
    figure, panels = _make_panels(3, "wrong labels, %")
    shares = [row | {"wrong labels": row["wrong labels"].removesuffix("%")} for row in rows]
    _draw_lines(panels[0], shares, "wrong labels", "gap", 0.0)
    panels[0].set_title("out-of-patch minus test accuracy, points")
    _draw_lines(panels[1], shares, "wrong labels", "set held", 90.0)
    panels[1].set_title("rows held by sets of 90 %")
    wrong = [row for row in shares if row["AUC of p"] != "nan"]
    adaptive = [row for row in wrong if "uniform" not in row["model"]]
    _draw_lines(panels[2], adaptive, "wrong labels", "AUC of p", 0.5)
    for name in ("votes", "gradient"):
        _draw_line(panels[2], wrong, "wrong labels", "AUC of difficulty", name, marker="s", alpha=0.5)
    panels[2].set_title("AUC for wrong labels: p, difficulty (squares)")
    figure.set_figheight(3.3)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7, frameon=False
    )
    return _finish(figure)


def draw_tiny(rows: Sequence[Row]) -> Figure:
    """Draw how far off scores are, and the coverage of intervals, by the number of rows."""
    figure, panels = _make_panels(3, "training rows")
    for panel, column, level, title in (
        (panels[0], "absolute gap", 0.0, "out-of-patch and test accuracy differ by, points"),
        (panels[1], "interval held", 90.0, "rows held by intervals of 90 %"),
        (panels[2], "useful of the top four by q", 20.0, "useful features among the top four by q, %"),
    ):
        _draw_lines(panel, rows, "rows", column, level)
        panel.set(xscale="log", title=title)
        panel.set_xticks([int(row["rows"]) for row in rows[::2]], [row["rows"] for row in rows[::2]], minor=False)
        panel.minorticks_off()
    return _finish(figure, panels[0])


def draw_source(together: Sequence[Row], drift: Sequence[Row]) -> Figure:
    """Draw the coverage of intervals for rows that belong together, and for rows from elsewhere."""
    figure, panels = _make_panels(3, "")
    key = "rows of each person"
    _draw_lines(panels[0], together, key, "gap", 0.0)
    panels[0].set(title="out-of-patch minus test R², points", xlabel=key)
    _draw_lines(panels[1], together, key, "interval held", 90.0)
    panels[1].set(title="rows of new people held, 90 %", xlabel=key)
    _draw_lines(panels[2], drift, "shift", "interval held", 90.0)
    for panel in panels[:2]:
        panel.set_xticks(sorted({int(row[key]) for row in together}))
    panels[2].set(title="rows held after a drift, 90 %", xlabel="shift of a feature, standard deviations")
    return _finish(figure, panels[0])


def draw_twins(rows: Sequence[Row]) -> Figure:
    """Draw q of a useful feature and of its twin, by their correlation."""
    figure, panels = _make_panels(2, "correlation of the useful feature and its twin")
    for panel, name in zip(panels, ("votes", "gradient"), strict=True):
        own = [row for row in rows if row["model"] == name]
        places = range(len(own))
        for column, colour, line in (
            ("useful, alone", "0.6", "-"),
            ("useful, with a twin", "tab:blue", "-"),
            ("its twin", "tab:orange", "--"),
            ("noise, the largest", "0.3", ":"),
        ):
            panel.plot(places, [float(row[column]) for row in own], line, color=colour, marker=".", label=column)
        panel.set_xticks(places, [row["correlation"] for row in own])
        panel.set(title=f"{name}: q, 1 is the average feature", ylim=(0, None))
    return _finish(figure, panels[0])


def _make_panels(n_panels: int, label: str) -> tuple[Figure, Any]:
    figure, panels = plt.subplots(1, n_panels, figsize=(9.0, 2.7), layout="constrained")
    for panel in panels:
        panel.set_xlabel(label, fontsize=8)
    return figure, panels


def _draw_lines(panel: Any, rows: Sequence[Row], key: str, column: str, level: float) -> None:
    """Draw a line for each model, and the level that would be right."""
    panel.axhline(level, color="0.7", linewidth=1)
    for name in dict.fromkeys(row["model"] for row in rows):
        _draw_line(panel, rows, key, column, name, marker=".", label=name)


def _draw_line(panel: Any, rows: Sequence[Row], key: str, column: str, name: str, **style: Any) -> None:
    colour, line = STYLES[name]
    own = [(float(row[key]), float(row[column])) for row in rows if row["model"] == name]
    panel.plot(*zip(*own, strict=True), line, color=colour, markersize=4, linewidth=1.2, **style)


def _finish(figure: Figure, legend: Any = None) -> Figure:
    for panel in figure.axes:
        panel.tick_params(labelsize=7)
        panel.set_title(panel.get_title(), fontsize=8)
        panel.set_xlabel(panel.get_xlabel(), fontsize=8)
        panel.grid(alpha=0.25)
    if legend is not None:
        legend.legend(fontsize=7, frameon=False)
    return figure


#: By name of the picture: the studies that it shows, and what draws it.
PICTURES: dict[str, tuple[tuple[str, ...], Callable[..., Figure]]] = {
    "noise": (("noise",), draw_noise),
    "tiny": (("tiny",), draw_tiny),
    "source": (("together", "drift"), draw_source),
    "twins": (("twins",), draw_twins),
}
